import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro._core.base64 import decode

RFC_4648 = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@given(st.binary())
def test_bytes_come_back(raw):
    assert decode(base64.b64encode(raw)) == raw


@given(st.text("AQgw+/=-_ \n\x80", max_size=12).map(lambda text: text.encode("latin1")))
def test_whole_groups_are_taken_and_all_else_refused(text):
    dense = bytes(c for c in text if c not in b" \n")
    if RFC_4648.fullmatch(dense):
        assert decode(text) == base64.b64decode(dense)
    else:
        with pytest.raises(ValueError, match="no base64"):
            decode(text)
