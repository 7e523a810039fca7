"""JSON pointers, as RFC 6901 has them."""

from __future__ import annotations

import pytest

from zaro.conventions.pointer import PointerError, point

DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
    "~1": 9,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
        ("/~01", 9),
    ],
)
def test_a_pointer_leads_to_its_value(pointer, value):
    assert point(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("foo", "must start with '/'"),
        ("attributes/x", "must start with '/'"),
        ("/a~2b", "neither '~0' nor '~1'"),
        ("/a~", "neither '~0' nor '~1'"),
        ("/nowhere", "no member 'nowhere'"),
        ("/foo/2", "no item '2' in a list of 2"),
        ("/foo/00", "no item '00'"),
        ("/foo/-", "no item '-'"),
        ("/foo/-1", "no item '-1'"),
        ("/foo/9999999999999999999999", "no item"),
        ("/foo/0/1", "below a value"),
        ("//x", "below a value"),
    ],
)
def test_a_pointer_that_leads_nowhere_says_why(pointer, words):
    with pytest.raises(PointerError, match=words):
        point(DOCUMENT, pointer)
