import json

import numpy as np
import originals
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.errors import ReferenceSetError, TemplateError
from zaro.references import formula
from zaro.references.formula import FormulaTable
from zaro.references.set import References

TEMPLATES = {"u": "server/path", "f": "{{c}}"}
dimensions = st.one_of(
    st.builds(lambda stop: {"stop": stop}, st.integers(0, 4)),
    st.builds(lambda start, n, step: {"start": start, "stop": start + n * step, "step": step},
              st.integers(0, 3), st.integers(0, 3), st.integers(1, 2)),
    st.lists(st.integers(0, 5), max_size=3, unique=True),
)  # fmt: skip
keys = st.sampled_from(
    ["x/{{i}}.{{j}}", "x/{{j}}.{{i+1}}", "x/{{2*i}}.{{j*1+0}}", "y/{{i*4+j}}", "y/{{j}}", "y/0",
     "other/{{i}}_{{j}}",
     "{{'x'}}/{{i}}.{{j}}", "x/{{i}}.0", "z/c/{{j}}/{{i}}", "x/0{{i}}.{{j}}",
     "x/{{i}}{{j}}.0", "x/{{ '%d' % i }}.{{j}}"]
)  # fmt: skip
urls = st.sampled_from(
    ["s3://b/one.nc", "s3://b/{{i}}.nc", "http://{{u}}_{{'%03d' % j}}", "s3://{{f(c='t')}}/{{i}}{{j}}"]
)
spans = st.sampled_from(
    [{}, {"offset": "{{(i + 1) * 1000}}", "length": "1000"}, {"offset": "{{i}}00", "length": "{{ j % 3 }}"},
     {"offset": "20", "length": "{{ j // 2 + 7 }}"}]
)  # fmt: skip
generators = st.builds(
    lambda key, url, span, i, j: {"key": key, "url": url, **span, "dimensions": {"i": i, "j": j}},
    keys, urls, spans, dimensions, dimensions,
)  # fmt: skip
METADATA = {
    "x/.zarray": json.dumps(originals.zarray([9, 9], [1, 1])),
    "y/.zarray": json.dumps(originals.zarray([30], [1])),
    "z/zarr.json": json.dumps(originals.zarr_json([9, 9], [1, 1])),
}


def document(gen, **refs):
    return {"version": 1, "templates": TEMPLATES, "gen": gen, "refs": {**METADATA, **refs}}


@pytest.mark.parametrize("eager", [0, 1 << 20])
@given(st.lists(generators, max_size=3))
@settings(max_examples=250, deadline=None)
def test_generators_make_what_the_original_makes(eager, gen):
    expected = originals.original(document(gen), simple_templates=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formula, "EAGER", eager)
        for target in (document(gen), json.dumps(document(gen)).encode()):
            refs = References.open(target)
            assert dict(refs) == dict(refs.items()) == expected
            assert len(refs) == len(expected)


def test_references_win_over_generators():
    gen = [{"key": "y/{{i}}", "url": "s3://b/g", "dimensions": {"i": {"stop": 30}}}]
    refs = References.open(document(gen, **{"y/3": ["s3://b/r", 1, 2], "y/4": "text"}))
    assert refs["y/2"] == ["s3://b/g"]
    assert refs["y/3"] == ["s3://b/r", 1, 2]
    assert refs["y/4"] == b"text"


def huge(side=10**5, **change):
    gen = {
        "key": "x/{{i}}.{{j}}",
        "url": "s3://b/{{'%06d' % i}}.nc",
        "offset": "{{ j * 4000 + 20480 }}",
        "length": "4000",
        "dimensions": {"i": {"stop": side}, "j": {"stop": side}},
    }
    metadata = {"x/.zarray": json.dumps(originals.zarray([10**5, 10**5], [1, 1]))}
    return {"version": 1, "gen": [{**gen, **change}], "refs": {**metadata, "x/7.7": ["s3://b/own", 0, 1]}}


def test_formula_of_any_size_is_computed_where_it_is_asked_for():
    refs = References.open(huge())
    assert refs["x/99999.99998"] == ["s3://b/099999.nc", 99998 * 4000 + 20480, 4000]
    assert refs["x/7.7"] == ["s3://b/own", 0, 1]
    ids = np.array([0, 123_456_789, 7 * 10**5 + 7])
    found = refs.locate("x", ids)
    assert [found.files[k] for k in found.file_id] == ["s3://b/000000.nc", "s3://b/001234.nc", "s3://b/own"]
    assert "bytes 20480+4000 of s3://b/000000.nc" in refs.explain("x/0.0")
    assert isinstance(refs.contents.tables["x"].lower, FormulaTable)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": {"i": {"stop": 10**5}, "j": {"stop": 10**5 + 1}}}, "has 10000000000 chunks"),
        ({"dimensions": {"i": {"stop": 2**61}, "j": {"stop": 2**61}}}, "one by one"),
        ({"key": "k{{i}}{{j}}"}, "one by one"),
        (
            {"key": "x/{{i}}.{{j * j}}", "dimensions": {"i": {"stop": 10**5}, "j": {"stop": 9000}}},
            "no formula",
        ),
        ({"offset": None}, "one of offset and length"),
        ({"url": None}, "lacks key or url"),
        ({"url": 3}, "url is 3, expected text"),
        ({"dimensions": {"i": {"start": 1}}}, "expected a list or an object with stop"),
        ({"dimensions": {"i": {"stop": 1, "step": 0}}}, "a step other than 0"),
        ({"dimensions": {"i": {"stop": 1e9}}}, "expected integers"),
        ({"dimensions": {"i": [1.5]}}, "holds 1.5"),
        ({"dimensions": [1]}, "expected an object"),
    ],
)
def test_broken_and_boundless_generators_are_refused(change, message):
    with pytest.raises(ReferenceSetError, match=message) as caught:
        References.open(huge(**change))
    assert "gen[0]" in str(caught.value)


def test_negative_offsets_and_unknown_names_are_refused():
    small = {"i": {"stop": 3}, "j": {"stop": 3}}
    with pytest.raises(ReferenceSetError, match="becomes '-1', expected a number of bytes"):
        References.open(huge(offset="{{ i - 1 }}", dimensions=small))
    with pytest.raises(TemplateError, match="there is no template 'k'"):
        References.open(huge(offset="{{ k }}", dimensions=small))
    with pytest.raises(ReferenceSetError, match=r"gen\[1\]: is int, expected an object"):
        References.open({**huge(dimensions=small), "gen": [huge(dimensions=small)["gen"][0], 7]})


def test_numbers_may_be_decimal_text_and_empty_dimensions_make_nothing():
    refs = References.open(huge(length=5, dimensions={"i": {"start": "1", "stop": "2"}, "j": [4]}))
    assert refs["x/1.4"] == ["s3://b/000001.nc", 4 * 4000 + 20480, 5]
    assert "x/0.4" not in refs
    assert "x/1.4" not in References.open(huge(dimensions={"i": {"stop": 0}, "j": {"stop": 9}}))
