"""The door to fsspec: the same calls on the original and on ours, and where ours differs on purpose."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import fsspec
import pytest
from fsspec.implementations import reference as original
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import zarray

import zaro
import zaro.fsspec as ours
from zaro.errors import ReferenceSetError, StoreError

DATA = bytes(range(256)) * 4
ZARRAY = json.loads(zarray((2, 3)))


def references(url: str) -> dict[str, Any]:
    """One of everything that a document may hold."""
    return {
        ".zgroup": json.dumps({"zarr_format": 2}),
        "a/.zarray": json.dumps(ZARRAY),
        "a/.zattrs": json.dumps({"units": "K"}),
        "a/0.0": [url, 0, 8],
        "a/0.1": [url, 8, 8],
        "a/0.2": [url, 100, 8],
        "a/1.0": "base64:" + base64.b64encode(bytes(range(200, 208))).decode(),
        "a/1.2": [url, 1000, 8],
        "g/.zgroup": json.dumps({"zarr_format": 2}),
        "g/b/.zarray": json.dumps({**ZARRAY, "shape": [2, 2]}),
        "g/b/0.0": [url],
        "text": "some text",
        "odd/key/x": [url, 3, 5],
    }


@pytest.fixture(params=["dict", "version 1", "document", "compressed document", "local document"])
def fo(request, memory, tmp_path):
    """The same references, in everything that may be handed over."""
    memory.pipe_file("/data", DATA)
    refs = references("memory://data")
    if request.param == "dict":
        return refs
    if request.param == "version 1":
        return {"version": 1, "refs": refs}
    text = json.dumps({"version": 1, "refs": refs}).encode()
    if request.param == "document":
        memory.pipe_file("/refs.json", text)
        return "memory://refs.json"
    if request.param == "local document":
        (tmp_path / "refs.json").write_bytes(text)
        return str(tmp_path / "refs.json")
    with fsspec.open("memory://refs.json.gz", "wb", compression="gzip") as file:
        file.write(text)
    return "memory://refs.json.gz"


def both(fo, **options):
    if isinstance(fo, str) and fo.endswith(".gz"):
        options["target_options"] = {"compression": "gzip"}
    return original.ReferenceFileSystem(fo, **options), ours.ReferenceFileSystem(fo, **options)


def outcome(call: Callable[[Any], Any], fs: Any) -> Any:
    """What a call gives, or what kind of error."""
    try:
        return call(fs)
    except original.ReferenceNotReachable as err:
        return "not reachable", err.reference, type(err.__cause__)
    except Exception as err:
        return type(err)


def by_name(entries):
    return sorted(entries, key=lambda entry: entry["name"])


def walked(fs):
    return sorted((path, sorted(dirs), sorted(files)) for path, dirs, files in fs.walk(""))


def opened(path, **how):
    def call(fs):
        with fs.open(path, **how) as file:
            found = [file.read(3), file.seek(1), file.read(), file.read()]
            file.seek(-2, os.SEEK_END)
            return [*found, file.read()]

    return call


def fetched(path):
    def call(fs):
        into = io.BytesIO()
        fs.get_file(path, into)
        return into.getvalue()

    return call


KEYS = [
    *references("x"),
    "a",
    "g",
    "odd/key",
    "",
    "absent",
    "a/1.1",
    "a/9.9",
    "a/00.0",
    "g/absent",
    "reference://a/0.0",
]
SLICES = [(None, None), (2, None), (None, 3), (-3, None), (1, -2), (5, 2), (2, 100), (-100, 4), (100, 200)]

CALLS = {
    **{f"cat_file {key} {s}": (lambda fs, k=key, s=s: fs.cat_file(k, *s)) for key in KEYS for s in SLICES},
    **{f"cat {key}": (lambda fs, k=key: fs.cat(k)) for key in KEYS},
    **{f"exists {key}": (lambda fs, k=key: fs.exists(k)) for key in KEYS if key and "://" not in key},
    **{f"isfile {key}": (lambda fs, k=key: fs.isfile(k)) for key in KEYS if "://" not in key},
    **{f"isdir {key}": (lambda fs, k=key: fs.isdir(k)) for key in KEYS if key and "://" not in key},
    **{f"open {key}": opened(key) for key in KEYS if key not in ("a", "g", "", "odd/key")},
    **{f"open text {key}": opened(key, mode="r") for key in ("text", "a/.zattrs")},
    **{f"get_file {key}": fetched(key) for key in ("a/0.0", "text", "g/b/0.0", "absent")},
    **{f"ls {key}": (lambda fs, k=key: sorted(fs.ls(k, detail=False))) for key in KEYS},
    **{
        f"info {key}": (lambda fs, k=key: fs.info(k))
        for key in KEYS
        if key not in ("a/1.0", "reference://a/0.0")
    },
    "ls details": lambda fs: by_name(fs.ls("g")) + by_name(fs.ls("odd/key")),
    "find": lambda fs: fs.find(""),
    "find below": lambda fs: fs.find("g"),
    "find with folders": lambda fs: fs.find("", withdirs=True),
    "walk": walked,
    "glob": lambda fs: sorted(fs.glob("a/*.*")),
    "du": lambda fs: fs.du("odd"),
    "cat many": lambda fs: fs.cat(["a/0.1", "a/0.0", "text", "g/b/0.0", "a/1.2"]),
    "cat many, one absent": lambda fs: fs.cat(["a/0.1", "absent"]),
    "cat many, absent left out": lambda fs: fs.cat(["a/0.1", "absent"], on_error="omit"),
    "cat recursively": lambda fs: fs.cat("a", recursive=True),
    "cat with a star in a list": lambda fs: fs.cat(["a/*"]),
    "cat_ranges": lambda fs: fs.cat_ranges(["a/0.0", "a/0.1", "text"], [1, 0, 2], [4, 8, 6]),
    "cat_ranges by one number": lambda fs: fs.cat_ranges(["a/0.0", "a/0.1"], 2, 5),
    "cat_ranges of something else": lambda fs: fs.cat_ranges("a/0.0", 2, 5),
    "cat_ranges of unequal lists": lambda fs: fs.cat_ranges(["a/0.0", "a/0.1"], [0], [1]),
    "references": lambda fs: {k: list(v) if isinstance(v, tuple) else v for k, v in fs.references.items()},
    "mapper": lambda fs: {k: fs.get_mapper("")[k] for k in ("a/0.0", "text")},
    "mapper, absent": lambda fs: fs.get_mapper("")["a/1.1"],
    "mapper, many": lambda fs: fs.get_mapper("a").getitems(["0.0", "1.1", "1.2"], on_error="omit"),
    "sizes": lambda fs: fs.sizes(["a/0.0", "text", "g/b/0.0"]),
    "unstrip": lambda fs: fs.unstrip_protocol("a/0.0"),
}


def test_every_call_gives_what_the_original_gives(fo):
    theirs, mine = both(fo)
    differing = {}
    for name, call in CALLS.items():
        expected, found = outcome(call, theirs), outcome(call, mine)
        if expected != found:
            differing[name] = (expected, found)
    assert differing == {}


def test_the_same_file_systems_are_made(fo, memory):
    theirs, mine = both(fo)
    assert mine.fss[None] == mine.fss["memory"]
    assert set(theirs.fss) == set(mine.fss)
    for key in theirs.fss:
        assert type(theirs.fss[key]) is type(mine.fss[key])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"remote_protocol": "memory"},
        {"remote_protocol": "file"},
        {"fs": "memory"},
        {"fs": {"memory": {}}},
        {"fs": {"memory": {}, "file": {"auto_mkdir": True}}},
        {"remote_protocol": "http", "remote_options": {"headers": {"a": "b"}}},
    ],
    ids=str,
)
def test_arguments_name_the_same_file_systems(arguments, memory):
    arguments = {
        key: memory if value == "memory" and key == "fs" else value for key, value in arguments.items()
    }
    theirs, mine = both({"a": ["data", 0, 3]}, **arguments)
    assert {k: getattr(v, "sync_fs", v) for k, v in theirs.fss.items()} == {
        k: getattr(v, "sync_fs", v) for k, v in mine.fss.items()
    }


def test_a_file_system_that_runs_otherwise_is_refused(memory):
    for kind in (original.ReferenceFileSystem, ours.ReferenceFileSystem):
        with pytest.raises(ValueError, match="same value of asynchronous"):
            kind({}, remote_protocol="http", asynchronous=True)


def test_other_versions_are_refused():
    for kind in (original.ReferenceFileSystem, ours.ReferenceFileSystem):
        with pytest.raises(ValueError, match="Unknown reference spec version: 2"):
            kind({"version": 2})


def test_a_missing_document_is_not_found(tmp_path):
    for kind in (original.ReferenceFileSystem, ours.ReferenceFileSystem):
        for place in (str(tmp_path / "absent.json"), "memory://absent.json"):
            with pytest.raises(FileNotFoundError):
                kind(place)


def test_a_broken_document_is_an_error(tmp_path):
    (tmp_path / "refs.json").write_text('{"a": [')
    for kind in (original.ReferenceFileSystem, ours.ReferenceFileSystem):
        with pytest.raises(ValueError):  # noqa: PT011 - each says it its own way
            kind(str(tmp_path / "refs.json"))


def test_references_without_a_file_take_the_target(memory):
    memory.pipe_file("/data", DATA)
    theirs, mine = both({"a": [None, 2, 3]}, target="memory://data", remote_protocol="memory")
    assert theirs.cat("a") == mine.cat("a") == DATA[2:5]


def test_an_unreachable_file_is_an_error_with_a_cause(memory):
    theirs, mine = both({"a": ["memory://absent", 0, 4], "b": "B"})
    for fs in (theirs, mine):
        with pytest.raises(original.ReferenceNotReachable) as caught:
            fs.cat("a")
        assert caught.value.__cause__ is not None
        assert "memory://absent" in str(caught.value)
        found = fs.cat(["a", "b", "c"], on_error="return")
        assert isinstance(found["a"], original.ReferenceNotReachable)
        assert found["b"] == b"B"
        assert isinstance(found["c"], FileNotFoundError)
        with pytest.raises(original.ReferenceNotReachable):
            fs.get_mapper("")["a"]
        with pytest.raises(KeyError):
            fs.get_mapper("")["c"]
    assert isinstance(caught.value, zaro.ZaroError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.reference, again.target, str(again)) == ("a", caught.value.target, str(caught.value))


CHANGES = {
    "pipe": lambda fs, path: fs.pipe("new/key", b"bytes"),
    "pipe many": lambda fs, path: fs.pipe({"x": b"1", "a/0.0": b"2"}),
    "pipe a reference": lambda fs, path: fs.pipe_file("r", ["memory://data", 1, 2]),
    "put": lambda fs, path: fs.put(str(path), "folder/", recursive=True),
    "put_file": lambda fs, path: fs.put_file(str(path / "one"), "copy"),
    "rm": lambda fs, path: fs.rm("text"),
    "rm folder": lambda fs, path: fs.rm("g", recursive=True),
    "through references": lambda fs, path: fs.references.update({"y": "z"}),
    "through the mapper": lambda fs, path: fs.get_mapper("m").__setitem__("k", b"v"),
    "deleted through the mapper": lambda fs, path: fs.get_mapper("").__delitem__("text"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_have_the_same_effect(change, fo, tmp_path):
    (tmp_path / "put").mkdir()
    (tmp_path / "put" / "one").write_bytes(b"1")
    theirs, mine = both(fo)
    for fs in (theirs, mine):
        CHANGES[change](fs, tmp_path / "put")
    assert dict(mine.references) == dict(theirs.references)
    assert mine.find("") == theirs.find("")
    for key in mine.find(""):
        assert mine.cat(key) == theirs.cat(key)


def test_saved_references_read_the_same(fo, memory):
    theirs, mine = both(fo)
    theirs.save_json("memory://theirs.json")
    mine.save_json("memory://mine.json")
    first, second = (json.loads(memory.cat_file(f"/{name}.json")) for name in ("theirs", "mine"))
    assert first == second


def test_get_writes_the_same_files(fo, tmp_path):
    for name, fs in zip(("theirs", "mine"), both(fo), strict=True):
        fs.get("a", str(tmp_path / name), recursive=True)
        fs.get("text", str(tmp_path / name / "text"))

    def files(root):
        return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    assert files(tmp_path / "mine") == files(tmp_path / "theirs") != {}


def test_get_stays_below_its_destination(tmp_path):
    fs = ours.ReferenceFileSystem({"a/../../evil": "x"})
    with pytest.raises(ValueError, match="outside"):
        fs.get("a", str(tmp_path / "here"), recursive=True)
    assert not (tmp_path / "evil").exists()


def test_it_can_be_awaited(memory):
    memory.pipe_file("/data", DATA)

    async def calls(kind):
        fs = kind(references("memory://data"), asynchronous=True)
        return [
            await fs._cat_file("a/0.0", 1, 3),
            await fs._cat(["a/0.0", "a/0.1", "text"]),
            await fs._cat_ranges(["a/0.0", "g/b/0.0"], [1, 5], [3, 9]),
            await fs._info("g/b/0.0"),
            await fs._exists("a/1.1"),
            await fs._exists("a/0.0"),
            sorted(await fs._ls("a", detail=False)),
            sorted(await fs._find("g")),
            await fs._isdir("g"),
            await fs._isfile("g"),
        ]

    assert asyncio.run(calls(ours.ReferenceFileSystem)) == asyncio.run(calls(original.ReferenceFileSystem))


def test_it_pickles_as_its_arguments(fo):
    _, mine = both(fo)
    again = pickle.loads(pickle.dumps(mine))
    assert again == mine
    assert again.cat("a/0.0") == DATA[:8]


# ---- merging -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_gap", "requests"), [(64_000, 1), (0, 3), (84, 2), (-1, 4)])
def test_neighbours_are_read_together(max_gap, requests, memory, monkeypatch):
    memory.pipe_file("/data", DATA)
    fs = ours.ReferenceFileSystem(references("memory://data"), max_gap=max_gap)
    asked = []
    cat_ranges = type(memory).cat_ranges
    monkeypatch.setattr(
        type(memory), "cat_ranges", lambda self, *a, **k: asked.extend(a[0]) or cat_ranges(self, *a, **k)
    )
    found = fs.cat(["a/0.0", "a/0.1", "a/0.2", "a/1.2"])
    assert found == {"a/0.0": DATA[:8], "a/0.1": DATA[8:16], "a/0.2": DATA[100:108], "a/1.2": DATA[1000:1008]}
    assert len(asked) == requests


@given(
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 120)), min_size=1, max_size=12),
    st.integers(-1, 200),
    st.integers(1, 400),
    st.booleans(),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_merged_reads_give_what_single_ones_give(tmp_path, spans, max_gap, max_block, whole):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    refs = {f"k{n}": [str(path), offset, size] for n, (offset, size) in enumerate(spans)}
    if whole:
        refs["whole"] = [str(path)]
    fs = ours.ReferenceFileSystem(refs, max_gap=max_gap, max_block=max_block)
    expected = {key: DATA[ref[1] : ref[1] + ref[2]] if len(ref) == 3 else DATA for key, ref in refs.items()}
    assert fs.cat(list(refs)) == expected
    assert asyncio.run(_awaited(refs, max_gap)) == list(expected.values())


async def _awaited(refs, max_gap):
    fs = ours.ReferenceFileSystem(refs, asynchronous=True)
    return await fs._cat_ranges(list(refs), None, None, max_gap=max_gap)


# ---- where ours differs on purpose -------------------------------------------------------------


def test_a_file_that_is_too_short_is_an_error(tmp_path, memory):
    (tmp_path / "short").write_bytes(b"12345")
    memory.pipe_file("/short", b"12345")
    for url in (str(tmp_path / "short"), "memory://short"):
        theirs, mine = both({"a": [url, 2, 10], "b": [url, 0, 5]})
        assert theirs.cat("a") == b"345"
        for read in (lambda fs: fs.cat("a"), lambda fs: fs.cat_file("a"), lambda fs: fs.cat(["a", "b"])):
            with pytest.raises(ours.ReferenceNotReachable) as caught:
                read(mine)
            assert isinstance(caught.value.__cause__, StoreError)
        assert mine.cat("b") == b"12345"


def test_inline_data_have_their_decoded_size():
    _, mine = both({"a": "base64:" + base64.b64encode(b"123").decode()})
    assert mine.info("a")["size"] == mine.ls("")[0]["size"] == len(mine.cat("a")) == 3


def test_protocols_are_each_read_by_their_own(tmp_path, memory):
    memory.pipe_file("/data", DATA)
    (tmp_path / "local").write_bytes(b"local")
    url = "data:text/plain;base64," + base64.b64encode(b"in the url").decode()
    mine = ours.ReferenceFileSystem(
        {"a": ["memory://data", 0, 4], "b": [f"file://{tmp_path}/local", 0, 5], "c": [url]}
    )
    assert mine.cat(["a", "b", "c"]) == {"a": DATA[:4], "b": b"local", "c": b"in the url"}


def test_chained_urls_are_read(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("member", b"0123456789")
    mine = ours.ReferenceFileSystem({"a": [f"zip://member::file://{tmp_path}/archive.zip", 2, 3]})
    assert mine.cat("a") == b"234"


def test_options_go_by_url_prefix(memory):
    options = {"http://a.example/": {"headers": {"who": "a"}}, "http://": {"headers": {"who": "all"}}}
    for arguments in ({"remote_options": options}, {"fs": options}):
        fs = ours.ReferenceFileSystem({"x": ["http://a.example/f", 0, 1]}, **arguments)
        assert fs.fss.of("http://a.example/f")[0].kwargs["headers"]["who"] == "a"
        assert fs.fss.of("http://b.example/f")[0].kwargs["headers"]["who"] == "all"


def test_what_was_piped_is_listed(memory):
    _, mine = both({"a": "A"})
    assert mine.ls("", detail=False) == ["a"]
    mine.pipe_file("b", b"B")
    assert mine.ls("", detail=False) == ["a", "b"]


def test_a_key_does_not_open_for_writing():
    _, mine = both({"a": "A"})
    with pytest.raises(NotImplementedError, match="pipe_file"):
        mine.open("a", "wb")


def test_unreachable_references_are_left_out_when_asked(memory):
    _, mine = both({"a": ["memory://absent", 0, 4], "b": "B"})
    assert mine.cat(["a", "b"], on_error="omit") == {"b": b"B"}
    assert mine.exists("a")


def test_relative_paths_lie_beside_the_document(tmp_path, monkeypatch):
    (tmp_path / "set").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "set" / "beside").write_bytes(b"beside the document")
    (tmp_path / "work" / "here").write_bytes(b"in the folder")
    (tmp_path / "set" / "refs.json").write_text(json.dumps({"a": ["beside", 0, 6], "b": ["here"]}))
    monkeypatch.chdir(tmp_path / "work")
    fs = ours.ReferenceFileSystem(str(tmp_path / "set" / "refs.json"))
    assert fs.cat(["a", "b"]) == {"a": b"beside", "b": b"in the folder"}
    assert fs.references == {"a": ["beside", 0, 6], "b": ["here"]}


def test_templates_are_evaluated_and_overridden(memory, tmp_path):
    memory.pipe_file("/data", DATA)
    memory.pipe_file("/other", DATA[::-1])
    document = {
        "version": 1,
        "templates": {"u": "memory://data"},
        "refs": {"a": ["{{u}}", 0, 4], "b": "é{{u}}"},
    }
    (tmp_path / "refs.json").write_text(json.dumps(document))
    for fo in (document, str(tmp_path / "refs.json")):
        for overrides, expected in ((None, DATA[:4]), ({"u": "memory://other"}, DATA[::-1][:4])):
            theirs, mine = both(json.loads(json.dumps(fo)), template_overrides=overrides)
            assert theirs.cat("a") == mine.cat("a") == expected
            assert theirs.cat("b") == mine.cat("b")
            assert theirs.references["a"] == mine.references["a"]


def test_generators_are_not_ignored(memory):
    memory.pipe_file("/data", DATA)
    gen = {
        "key": "k{{i}}",
        "url": "memory://data",
        "offset": "{{i * 3}}",
        "length": "3",
        "dimensions": {"i": {"stop": 4}},
    }
    document = {"version": 1, "refs": {"x": "y"}, "gen": [gen]}
    theirs = original.ReferenceFileSystem(document, simple_templates=False)
    for simple in (True, False):
        mine = ours.ReferenceFileSystem(document, simple_templates=simple)
        assert mine.find("") == theirs.find("") == ["k0", "k1", "k2", "k3", "x"]
        assert [mine.cat(f"k{i}") for i in range(4)] == [theirs.cat(f"k{i}") for i in range(4)]


def test_text_of_any_language_stays_text(tmp_path):
    attributes = json.dumps({"units": "°C"}, ensure_ascii=False)
    (tmp_path / "refs.json").write_text(json.dumps({"a/.zattrs": attributes}))
    theirs, mine = both(str(tmp_path / "refs.json"))
    assert theirs.references == mine.references == {"a/.zattrs": attributes}
    assert theirs.cat("a/.zattrs") == mine.cat("a/.zattrs")


@pytest.fixture
def server(tmp_path):
    """A folder behind HTTP."""
    import functools
    import threading
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "served").mkdir()
    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}", tmp_path / "served"
        httpd.shutdown()


def test_a_document_from_afar_does_not_reach_this_machine(server, tmp_path):
    address, folder = server
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "beside").write_text("beside")
    refs = {"a": [f"file://{secret}"], "b": [str(secret)], "c": ["beside"], "d": [f"{address}/beside"]}
    for first, reference in refs.items():
        ordered = {first: reference, **refs}
        (folder / "refs.json").write_text(json.dumps(ordered))
        fs = ours.ReferenceFileSystem(f"{address}/refs.json")
        for key in "ab":
            with pytest.raises(ours.ReferenceNotReachable):
                fs.cat(key)
            with pytest.raises(ours.ReferenceNotReachable):
                fs.cat_file(key)
    allowed = ours.ReferenceFileSystem(f"{address}/refs.json", remote_protocol="file")
    assert allowed.cat("a") == b"secret"


def test_references_over_http_are_read(server):
    address, folder = server
    (folder / "data").write_bytes(DATA)
    (folder / "refs.json").write_text(json.dumps(references(f"{address}/data")))
    theirs, mine = both(f"{address}/refs.json")
    assert mine.cat("g/b/0.0") == theirs.cat("g/b/0.0") == DATA
    assert mine.info("g/b/0.0") == theirs.info("g/b/0.0")


# ---- columns -----------------------------------------------------------------------------------


def test_reading_does_not_make_an_object_for_each_reference(archive):
    fs = ours.ReferenceFileSystem(str(archive.references))
    fs.cat("tas/0.0.0")
    fs.ls("tas")
    fs.find("")
    assert fs._keys.columns is not None
    assert isinstance(fs.references, dict)
    assert fs._keys.columns is None


def test_references_in_columns_are_taken_as_they_are(archive):
    refs = zaro.References.open(archive.references)
    fs = ours.ReferenceFileSystem(refs)
    expected = ours.ReferenceFileSystem(str(archive.references))
    assert fs.find("") == expected.find("")
    assert fs.cat("tas/0.0.0") == expected.cat("tas/0.0.0")


# ---- install -----------------------------------------------------------------------------------


def test_after_install_unchanged_code_reads_through_us(archive):
    code = f"""
import warnings
import fsspec, xarray as xr, zaro.fsspec
expected = xr.open_dataset({str(archive.references)!r}, engine="kerchunk").load()
zaro.fsspec.install()
assert fsspec.get_filesystem_class("reference") is zaro.fsspec.ReferenceFileSystem
found = xr.open_dataset({str(archive.references)!r}, engine="kerchunk")
assert type(fsspec.filesystem("reference", fo={{}})) is zaro.fsspec.ReferenceFileSystem
xr.testing.assert_identical(found.load(), expected)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_kerchunk_combines_through_us(archive):
    code = f"""
import json, fsspec, xarray as xr, zaro.fsspec
from kerchunk.combine import MultiZarrToZarr
from kerchunk.hdf import SingleHdf5ToZarr

def combined():
    single = [SingleHdf5ToZarr(f, inline_threshold=0).translate() for f in {list(map(str, archive.files))!r}]
    return MultiZarrToZarr(single, concat_dims=["time"], identical_dims=["lat", "lon"]).translate()

expected = combined()
zaro.fsspec.install()
assert combined() == expected
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize(
    "value",
    [
        ["u", -5, 3], ["u", 5, -3], ["u", 5], ["u", 1, 2, 3], ["u", "a", 3], ["u", 1.5, 3], ["u", 1, None],
        ["u", float("nan"), 3], [], 5, 300,
    ],
)  # fmt: skip
def test_what_is_no_reference_is_an_error_that_names_its_key(value):
    fs = ours.ReferenceFileSystem({"a/0": value, "good": b"abc"})
    with pytest.raises(ReferenceSetError, match=r"a/0: is .*, expected text, \[url\]"):
        fs.cat("a/0")
    found = fs.cat(["a/0", "good"], on_error="return")
    assert isinstance(found["a/0"], ReferenceSetError)
    assert found["good"] == b"abc"
    assert fs.cat(["a/0", "good"], on_error="omit") == {"good": b"abc"}
