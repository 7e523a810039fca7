import base64
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zaro._core import scan
from zaro.errors import ReferenceSetError


class Refused(Exception):
    pass


class Pairs(dict):
    """An object with all of its members, those that others replace as well."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


def slow_value(value):
    """One value as the scanner has to understand it."""
    if value is None:
        return None
    if isinstance(value, str):
        data = value.encode()
        if data.startswith(b"base64:"):
            return base64.b64decode(data[7:].translate(None, b" \n\r\t"), validate=True)
        return data
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or len(value) not in (1, 3) or not isinstance(value[0], str):
        raise Refused
    value[0].encode()
    numbers = []
    for item in value[1:]:
        number = int(item) if type(item) is float and item.is_integer() else item
        if type(number) is not int or not 0 <= number < 2**63:
            raise Refused
        numbers.append(number)
    return [value[0], *numbers]


def slow_read(text):
    """Read a flat document with the parser of the standard library."""
    try:
        document = json.loads(text.decode(), object_pairs_hook=Pairs)
        if not isinstance(document, dict):
            raise Refused
        return {key.encode().decode(): slow_value(value) for key, value in document.pairs}
    except (ValueError, RecursionError) as err:
        raise Refused from err


def read(text):
    """Read it with the scanner, all entries loose."""
    scanner = scan.Scanner()
    used, event = scanner.feed_bytes(text, 0)
    while event == scan.ARRAY:
        more, event = scanner.feed_bytes(text, used)
        used += more
    scanner.settle()
    names, ends = scanner.files()
    inline, found = scanner.inline(), {}
    for key, file, offset, length in [*scanner.loose(documents=True), *scanner.loose(documents=False)]:
        data = inline[offset : offset + length]
        if file >= 0:
            name = names[ends[file - 1] if file else 0 : ends[file]].decode()
            value = [name] if length == scan.WHOLE else [name, offset, length]
        else:
            value = {scan.ABSENT: None, scan.INLINE: data, scan.OBJECT: data}[file]
            if file == scan.OBJECT:
                value = json.loads(data)
        found[key] = value
    return found


DOCUMENT = (
    b'{"a/.zarray": {"x": [1, "}"]}, "a/0.1": ["s3:\\/\\/b\\u00e9", 12, 4e1],\n\t"a/0.2": ["\xc3\xa9"],'
    b' "k": "base64:AAEC", "t\\n": "\\ud834\\udd1e", "n": null, "a/0.1": ["x", 5.0, 0]}'
)
pieces = st.sampled_from(
    [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"1", b"-", b".", b"e", b"0", b"\x00", b"\xff",
     b"\xc3", b"base64:", b"\\u", b"d800", b"NaN", b"true", b" ", b"\n", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
     b"refs", b"9" * 19]
)  # fmt: skip


@st.composite
def damaged(draw):
    text = bytearray(DOCUMENT)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 3))] = draw(pieces)
    return bytes(text)


def special(text):
    """Whether a document has members that mean something beside "refs", or what the scanner leaves unread."""
    return (
        any(f'"{name}"'.encode() in text for name in ("version", "refs", "templates", "gen"))
        or b"\\u0" in text
    )


@given(damaged())
@settings(max_examples=3000, deadline=None)
@example(DOCUMENT)
def test_damaged_documents_are_refused_when_the_parser_refuses_them_and_read_alike_otherwise(text):
    if special(text):
        return
    try:
        expected = slow_read(text)
    except Refused:
        try:
            found = read(text)
        except (ReferenceSetError, ValueError):
            return
        raise AssertionError(found) from None
    found = read(text)
    for key, value in expected.items():
        if isinstance(value, dict):
            assert json.dumps(found[key]) == json.dumps(value)
        else:
            assert found[key] == value
    assert found.keys() == expected.keys()


@given(st.integers(1, 17), st.integers(1, 17))
def test_any_cut_gives_the_same_entries(one, two):
    scanner = scan.Scanner()
    block, have, at = bytearray(len(DOCUMENT) + 1), 0, 0
    steps = [one, two]
    while have < len(DOCUMENT):
        step = min(steps[have % 2], len(DOCUMENT) - have)
        block[have : have + step] = DOCUMENT[have : have + step]
        have += step
        event = scan.ARRAY
        while event == scan.ARRAY:
            used, event = scanner.feed(block, at, have, have == len(DOCUMENT))
            at += used
    assert event == scan.DONE
    scanner.settle()
    whole = scan.Scanner()
    whole.feed_bytes(DOCUMENT, whole.feed_bytes(DOCUMENT, 0)[0])
    whole.settle()
    assert list(scanner.loose(documents=False)) == list(whole.loose(documents=False))
    assert scanner.files()[0] == whole.files()[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"sst/0.0": ["a.nc", 1, -1]}', "byte 24, key 'sst/0.0': expected a whole number of bytes"),
        (b'{"sst/0.0": "a\nb"}', "byte 14, key 'sst/0.0': a control character"),
        (b'{"sst\xff": "a"}', "byte 5: these bytes are no UTF-8"),
        (
            b'{"version": 1, "refs": {"a": 7}}',
            "byte 29, key 'a': expected .url., .url, offset",
        ),
        (b'{"a": "b"', "byte 9: the document ends too early"),
    ],
)
def test_error_names_the_byte_and_the_key(text, message):
    with pytest.raises(ReferenceSetError, match=f"^doc: {message}"):
        scan.Scanner("doc").feed_bytes(text, 0)


def test_hostile_nesting_and_length_are_refused_or_read():
    with pytest.raises(ReferenceSetError, match="nested deeper"):
        scan.Scanner().feed_bytes(b'{"a": ' + b'{"a":' * 100_000, 0)
    assert read(b'{"' + b"/" * 100_000 + b'": ["u"]}') == {"/" * 100_000: ["u"]}
    many = b"{" + b",".join(b'"%d/0":["f%d"]' % (k, k) for k in range(20_000)) + b"}"
    assert len(read(many)) == 20_000


def test_borders_are_checked():
    scanner = scan.Scanner()
    with pytest.raises(ValueError, match="spare byte"):
        scanner.feed(bytearray(4), 0, 4, False)
    with pytest.raises(ValueError, match="byte 3 of 2"):
        scanner.feed_bytes(b"{}", 3)
    with pytest.raises(IndexError, match="array 0 of 0"):
        scanner.rows(0)
    with pytest.raises(IndexError, match="array 5 of 0"):
        scanner.drop(5)
    number = scanner.declare("x", np.array([2, 3]), prefixed=False, separator=".")
    assert scanner.declare("x", np.array([2, 3]), prefixed=False, separator=".") == number
    assert scanner.declare("x", np.array([2, 4]), prefixed=False, separator=".") is None
    with pytest.raises(ValueError, match="outside what its place allows"):
        scanner.declare("y", np.array([-1]), prefixed=False, separator=".")
    with pytest.raises(ValueError, match="outside what its place allows"):
        scanner.dense(number, 7)


def test_grid_of_many_chunks_costs_nothing():
    scanner = scan.Scanner()
    number = scanner.declare("x", np.array([2**20, 2**20, 2**20]), prefixed=True, separator="/")
    scanner.feed_bytes(b'{"x/c/1/2/3": ["u"], "x/c/1048575/1048575/1048576": ["u"]}', 0)
    assert scanner.rows(number)[0].tolist() == [2**40 + 2**21 + 3]
    assert len(list(scanner.loose(documents=False))) == 1
