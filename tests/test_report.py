from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

import zaro
from zaro import report


class Checker(HTMLParser):
    """Tags close in the order that they opened; collects text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def check(html) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker


def array(shape, name="a", **members):
    document = {
        "zarr_format": 2,
        "shape": shape,
        "chunks": [min(size, 4) or 1 for size in shape],
        "dtype": "<f4",
        "compressor": {"id": "zlib", "level": 1},
        "filters": None,
        "fill_value": "NaN",
        "order": "C",
        **members,
    }
    return {f"{name}/.zarray": json.dumps(document).encode()}


def group(attrs=None, path=""):
    store = {f"{path}.zgroup": b'{"zarr_format": 2}'}
    return store | ({f"{path}.zattrs": json.dumps(attrs).encode()} if attrs else {})


NASTY = '<script>alert("x")</script>&amp;'


def test_html_of_an_array_has_its_facts():
    html = zaro.open(group() | array([8, 9]))["a"]._repr_html_()
    words = " ".join(check(html).words)
    for fact in ("8, 9", "float32", "4 x 4, 6 in all", "bytes > zlib", "nan"):
        assert fact in words


def test_html_of_a_group_is_a_tree():
    store = group({"title": "t"}) | group(path="sub/") | array([4], "sub/deep") | array([], "top")
    checker = check(zaro.open(store)._repr_html_())
    words = " ".join(checker.words)
    assert {"details", "summary", "table"} <= checker.tags
    for fact in ("title", "sub", "deep", "top", "scalar"):
        assert fact in words


def test_what_comes_from_a_file_is_escaped():
    store = group({NASTY: NASTY}) | array([4], "x")
    store["x/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": [NASTY], "nested": {"k": [NASTY]}}).encode()
    checker = check(zaro.open(store)._repr_html_())
    assert "script" not in checker.tags
    assert any(NASTY in words for words in checker.words)


def test_long_values_and_long_groups_are_cut_short():
    store = group({"history": "h" * 10_000})
    for number in range(150):
        store |= array([4], f"a{number:03}")
    root = zaro.open(store)
    for shown in (root._repr_html_(), report.text(root)):
        assert "a099" in shown
        assert "a100" not in shown
        assert "and more" in shown
        assert "h" * 1000 not in shown


def test_html_of_references_counts_chunks_and_files(archive):
    html = zaro.References.open(archive.references)._repr_html_()
    words = " ".join(check(html).words)
    assert "59 x 2 x 3 = 354 chunks in 2 files" in words
    assert "absent" in words


def test_html_of_references_names_codecs_and_of_their_nodes_files_and_what_is_absent(archive):
    refs = zaro.References.open(archive.references)
    root = zaro.open(refs)
    for shown in (refs, root, root["tas"]):
        words = " ".join(check(shown._repr_html_()).words)
        assert "59 x 2 x 3 = 354 chunks in 2 files" in words
        assert "absent" in words
        assert "shuffle > zlib" in words


def test_references_are_shown_whatever_they_say(archive):
    sparse = {f"v/{k}": [NASTY, k, 1] for k in (3, 70)}
    document = {"shape": [100], "chunks": [1], "dtype": "|u1", "compressor": None, "filters": None}
    document |= {"zarr_format": 2, "order": "C", "fill_value": 0}
    broken = {**document, "dtype": NASTY}
    found = {".zgroup": '{"zarr_format": 2}', "v/.zarray": json.dumps(document), **sparse}
    refs = zaro.References.open(
        {**found, f"{NASTY}/.zarray": json.dumps(document), "b/.zarray": json.dumps(broken)}
    )
    checker = check(refs._repr_html_())
    words = " ".join(checker.words)
    assert "script" not in checker.tags
    assert NASTY in words
    assert "100 chunks in 1 file, 98.0% absent; bytes" in words
    assert "100 chunks, 100.0% absent; bytes" in words


@pytest.mark.parametrize("fill", ["NaN", "Infinity", None, 0])
def test_a_description_is_json(fill):
    root = zaro.open(group({"x": [1, None]}) | array([4, 0], fill_value=fill))
    for node in (root, root["a"]):
        assert json.loads(json.dumps(report.describe(node), allow_nan=False))["kind"] in ("array", "group")


@pytest.mark.parametrize(
    ("nbytes", "told"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 60, "1024.0 PiB"),
        ((1 << 20) - 1, "1.0 MiB"),
    ],
)
def test_sizes_are_told_in_units(nbytes, told):
    assert report.size_of(nbytes) == told
