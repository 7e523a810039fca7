"""Hostile, corrupt and faulty material: each case keeps the promise that is made for it."""

import contextlib

import caged
import corpus
import pytest
from cases import ALLOWANCE


@pytest.fixture(scope="module")
def cage():
    with contextlib.closing(caged.Cage()) as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with corpus.published(tmp_path_factory.mktemp("published")) as found:
        yield found


@pytest.mark.parametrize("case", corpus.CASES, ids=lambda case: case.name)
def test_promise_is_kept(cage, address, case, tmp_path):
    found = cage.run(case.name, tmp_path, address)
    assert found["what"] in ("value", "error"), found
    if case.promise is None:
        assert found["what"] == "value", found
    elif found["what"] == "value":
        assert case.promise.or_value, "it was read"
    else:
        assert case.promise.kind in found["kinds"], found
        assert [word for word in case.promise.words if word not in found["text"]] == [], found
        assert len(found["text"]) < 2000
        assert found["pickles"], found
    assert found["peak"] <= ALLOWANCE + case.declared, found
