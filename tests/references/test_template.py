import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from zaro.errors import TemplateError
from zaro.references import expression as ex
from zaro.references.template import Templates

JINJA = SandboxedEnvironment()
numbers = st.integers(0, 50).map(str)
integers = st.recursive(
    st.one_of(numbers, st.sampled_from(["i", "j"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-", " * ", "//", " % "]), inner).map("".join),
        inner.map("({})".format),
        inner.map("(-{})".format),
    ),
    max_leaves=6,
)
formats = st.tuples(
    st.sampled_from(["%d", "%03d", "%-5dx", "%+i", "%x", "%#o", "%s", "%4s", "100%% %d", "%.3d"]), integers
).map(lambda parts: f"'{parts[0]}' % ({parts[1]})")
texts = st.lists(
    st.one_of(
        st.sampled_from(["a/", "_", "{", "}", " ", "é", "%d"]),
        integers.map("{{{{ {} }}}}".format),
        formats.map("{{{{{}}}}}".format),
        st.sampled_from(["{{u}}", "{{ u }}", "{{f(c='x')}}", "{{ f(c = i+1, ) }}", "{{ f(c=u) }}"]),
    ),
    max_size=4,
).map("".join)


@given(texts, st.integers(-5, 20), st.integers(0, 3))
@settings(max_examples=1500, deadline=None)
def test_texts_become_what_jinja_makes_of_them(text, i, j):
    values = {"i": i, "j": j}

    def f(c):
        return f"<{c}>"

    try:
        expected = JINJA.from_string(text).render(**values, u="s3://b", f=f)
    except Exception:
        with pytest.raises(TemplateError):
            Templates({"u": "s3://b", "f": "<{{c}}>"}).evaluate(text, values)
        return
    if "{#" in text or "{%" in text:
        return
    assert Templates({"u": "s3://b", "f": "<{{c}}>"}).evaluate(text, values) == expected


@given(integers, st.lists(st.integers(-30, 30), min_size=1, max_size=6), st.integers(0, 9))
@settings(max_examples=1000, deadline=None)
def test_columns_agree_with_one_value_at_a_time(text, column, j):
    import numpy as np

    (node,) = ex.parse("{{" + text + "}}") if not text.startswith("-") else ex.parse("{{(" + text + ")}}")
    bounds = ex.reach(node, {"i": (min(column), max(column)), "j": (j, j)})
    if bounds is None:
        return
    values = {"i": np.array(column), "j": np.full(len(column), j)}
    found = np.broadcast_to(ex.columns(node, values), len(column)).tolist()
    expected = [int(Templates().evaluate("{{(" + text + ")}}", {"i": i, "j": j})) for i in column]
    assert found == expected
    assert bounds[0] <= min(found) <= max(found) <= bounds[1]


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ u.upper() }}",
        "{{ u | upper }}",
        "{{ u[0] }}",
        "{{ config }}",
        "{{ range(3) }}",
        "{{ lipsum() }}",
        "{{ 1 if 1 else 2 }}",
        "{{ 1.5 }}",
        "{{ 7 / 2 }}",
        "{{ i == 1 }}",
        "{{ u ~ u }}",
        "{{- u }}",
        "{% set x = 1 %}{{ x }}",
        "{# #}{{ u }}",
        "{{ u",
        "{{ }}",
        "{{ u }",
        "{{ f('x') }}",
        "{{ f(c='x' d='y') }}",
        "{{ u(c=1) }}",
        "{{ '%c' % 65 }}",
        "{{ '%(a)s' % 1 }}",
        "{{ '%*d' % (3, 4) }}",
        "{{ '%f' % 1 }}",
        "{{ 'a' + 'b' }}",
        "{{ 'a' * 3 }}",
        "{{ -u }}",
        "{{ 1 // 0 }}",
        "{{ 1 % 0 }}",
        "{{ 99999999999999999999 }}",
        "{{ 9223372036854775807 + 1 }}",
        "{{ 10 ** 19 }}",
        "{{ 2 ** -1 }}",
        "{{ (1, 2) }}",
        "{{ '\\x41' }}",
        "{{ $HOME }}",
        "{{ u; u }}",
        "{{ " + "(" * 100 + "1" + ")" * 100 + " }}",
    ],
)
def test_what_lies_outside_the_grammar_is_refused_and_quoted(text):
    with pytest.raises(TemplateError) as caught:
        Templates({"u": "s3://b", "f": "<{{c}}>"}, "refs.json").evaluate(text, {"i": 1})
    assert text[:100] in str(caught.value).replace("\\\\", "\\")
    assert str(caught.value).startswith("refs.json: ")


def test_plain_text_of_any_name_is_replaced():
    templates = Templates({"my-url": "s3://b", "ü 1": "x", "u": "y"})
    assert templates.expand("{{my-url}}/{{ ü 1 }}{{ u }}/{{'%d' % 3}}") == "s3://b/xy/3"
    assert templates.expand("{u}/{{u}}{") == "{u}/y{"
    assert Templates({}).expand("{{u}}") == "{{u}}"


def test_circles_and_bombs_end_in_time():
    start = time.monotonic()
    circle = {"a": "{{b}}", "b": "{{ a() }}"}
    laughs = {f"t{k}": f"{{{{t{k + 1}}}}}" * 9 for k in range(12)} | {"t12": ""}
    swell = {f"t{k}": f"{{{{t{k + 1}}}}}" * 9 for k in range(12)} | {"t12": "ha" * 20_000}
    for templates in (circle, laughs, swell):
        with pytest.raises(TemplateError):
            Templates(templates).evaluate("{{ a }}" if "a" in templates else "{{ t0 }}", {})
    for text in (
        "{{ " + "- " * 60_000 + "1 }}",
        "{{ 1" + " + 1" * 15_000 + " }}",
        "{{'" * 20_000,
        "{{ ((((" * 9_000,
    ):
        with pytest.raises(TemplateError):
            Templates().evaluate(text, {})
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("texts", [[], "u", {"u": 1}, {1: "u"}, {"u": None}])
def test_templates_are_an_object_of_texts(texts):
    with pytest.raises(TemplateError):
        Templates(texts)
