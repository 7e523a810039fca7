from __future__ import annotations

import contextlib
import gzip
import json
import re
import subprocess
import sys
from importlib.metadata import version

import h5py
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import zaro
from zaro import cli

numbers = st.integers(-20, 20)
slices = st.builds(slice, *[st.none() | numbers] * 3)


def spell(part) -> str:
    if part is ...:
        return "..."
    if isinstance(part, int):
        return str(part)
    ends = ["" if number is None else str(number) for number in (part.start, part.stop, part.step)]
    return ":".join(ends if ends[2] else ends[:2])


@given(st.lists(st.just(...) | numbers | slices, min_size=1))
def test_a_selection_is_read_as_numpy_writes_it(parts):
    text = ", ".join(map(spell, parts))
    assert cli.parse_selection(text) == tuple(parts)
    assert cli.parse_selection(f"[{text},]") == tuple(parts)


@given(st.text())
def test_other_words_are_refused_and_never_run(words):
    with contextlib.suppress(zaro.ZaroError):
        assert all(part is ... or isinstance(part, int | slice) for part in cli.parse_selection(words))


@pytest.mark.parametrize("words", ["1:2:3:4", "a", "1.5", "None", "[[0,1]]", "0,,1", "__import__('os')"])
def test_what_is_no_selection_is_an_error(words):
    with pytest.raises(zaro.ZaroError, match="--select"):
        cli.parse_selection(words)


def run(capsys, *words) -> tuple[int, str, str]:
    code = cli.main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_ls_lists_every_node(archive, capsys):
    code, out, _ = run(capsys, "ls", archive.references)
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["group", "/"],
        ["array", "lat"],
        ["array", "lon"],
        ["array", "pr"],
        ["array", "tas"],
        ["array", "time"],
    ]


def test_ls_speaks_json(archive, capsys):
    code, out, _ = run(capsys, "ls", archive.references, "--json")
    assert code == 0
    assert json.loads(out) == dict(zaro.list(archive.references))


def test_info_tells_what_an_array_is(archive, capsys):
    code, out, _ = run(capsys, "info", archive.references, "tas")
    assert code == 0
    assert "time: 59, lat: 48, lon: 96" in out
    assert "int16" in out
    assert "@units" in out


def test_info_speaks_json(archive, capsys):
    code, out, _ = run(capsys, "info", archive.references, "tas", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["shape"] == [59, 48, 96]
    assert found["nchunks"] == 59 * 2 * 3
    assert found["attrs"]["scale_factor"] == 0.01


def test_read_writes_npy(archive, capsys, tmp_path):
    file = tmp_path / "part.npy"
    code, _, _ = run(capsys, "read", archive.references, "tas", "--select", "3, ::-1, 5:9", "-o", file)
    assert code == 0
    with h5py.File(archive.files[0]) as source:
        np.testing.assert_array_equal(np.load(file), source["tas"][3, :, 5:9][::-1])
    assert [path.name for path in tmp_path.iterdir()] == ["part.npy"]


def test_read_prints_values(archive, capsys):
    code, out, _ = run(capsys, "read", archive.references, "lat", "--select", ":2")
    assert (code, out.split()[0]) == (0, "[-90.")
    code, out, _ = run(capsys, "read", archive.references, "lat", "--select", "0", "--json")
    assert (code, json.loads(out)) == (0, -90.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["info", "{refs}", "salt"], "salt"),
        (["info", "{refs}x"], "{refs}x"),
        (["read", "{refs}", "tas", "--select", "99"], "99"),
        (["read", "{refs}", "tas", "--select", "x"], "--select 'x'"),
        (["read", "{refs}", "lat", "-o", "{refs}/no/such.npy"], "such.npy"),
        (["read", "{refs}", "lat", "--timeout", "0"], "timeout=0.0"),
    ],
)
def test_an_error_is_one_line(archive, capsys, words, told):
    code, out, err = run(capsys, *[word.format(refs=archive.references) for word in words])
    assert code == 1
    assert out == ""
    assert err.startswith("zaro: ")
    assert told.format(refs=archive.references) in err
    assert len(err.splitlines()) == 1


def test_debug_shows_where_an_error_arose(archive):
    with pytest.raises(zaro.ZaroError):
        cli.main(["info", str(archive.references), "salt", "--debug"])


def test_an_error_of_ours_is_one_line_too(monkeypatch, capsys):
    def broken(target, **options):
        raise KeyError("no\nsense")

    monkeypatch.setattr(zaro, "list", broken)
    code, _, err = run(capsys, "ls", "x")
    assert code == 1
    assert err == "zaro: KeyError: 'no\\nsense' (--debug shows where)\n"


def test_options_reach_the_library(archive, capsys):
    code, _, err = run(capsys, "read", archive.references, "tas", "--missing", "raise")
    assert code == 1
    assert "chunk 'tas/" in err


@pytest.mark.parametrize(
    "words", [["read"], ["info", "x", "--storage-options", "[1]"], ["info", "x", "--timeout", "y"]]
)
def test_a_command_line_that_makes_no_sense_ends_with_2(words, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    assert end.value.code == 2


def test_versions_names_packages_and_decoders(capsys):
    code, out, _ = run(capsys, "versions")
    assert code == 0
    assert {"zaro", "numpy", "zstd", "blosc"} <= set(out.split())
    code, out, _ = run(capsys, "versions", "--json")
    assert json.loads(out)["packages"]["numpy"] == np.__version__


def test_the_version_is_that_of_the_package(capsys):
    assert zaro.__version__ == version("zaro")
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"zaro {zaro.__version__}\n")


def test_without_a_command_help_is_printed(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    assert all(name in out for name in ("info", "ls", "read", "demo", "versions"))


def test_the_command_is_installed(archive):
    found = subprocess.run(
        [sys.executable, "-m", "zaro.cli", "ls", str(archive.references)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "array  tas" in found.stdout


def test_a_closed_pipe_is_no_error(archive):
    command = f"{sys.executable} -m zaro.cli ls {archive.references} | true"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert found.stderr == ""


def test_demo_without_its_packages_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("zaro.demo.missing_packages", lambda: ["kerchunk"])
    code, _, err = run(capsys, "demo")
    assert code == 1
    assert "zaro[demo]" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refs.json", []),
        ("refs.json.zst", []),
        ("refs.parquet", ["--record-size", "7"]),
        ("gen.json", ["--format", "generator"]),
        ("genc.json", ["--compact"]),
    ],
)
def test_convert_writes_every_form_with_the_same_references(archive, tmp_path, capsys, name, words):
    code, out, err = run(capsys, "convert", archive.references, tmp_path / name, *words)
    assert (code, err) == (0, "")
    assert "arrays" in out
    assert "bytes" in out
    assert dict(zaro.References.open(tmp_path / name)) == dict(zaro.References.open(archive.references))


def test_convert_says_what_it_cannot_write(archive, tmp_path, capsys):
    (tmp_path / "refs.parquet").mkdir()
    (tmp_path / "refs.parquet" / "thesis.tex").write_text("")
    code, _, err = run(capsys, "convert", archive.references, tmp_path / "refs.parquet")
    assert code == 1
    assert "left alone" in err
    code, _, err = run(capsys, "convert", archive.references, tmp_path / "refs.json", "--record-size", "7")
    assert code == 1
    assert "record_size" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [("x.json", ["--format", "parquet"]), ("x.parquet", ["--format", "json"]), ("x.parq", ["--compact"])],
)
def test_convert_writes_no_format_under_the_name_of_another(archive, tmp_path, capsys, name, words):
    code, _, err = run(capsys, "convert", archive.references, tmp_path / name, *words)
    assert code == 1
    assert "by which it will be read" in err
    assert list(tmp_path.iterdir()) == []


def test_files_of_data_are_no_place_to_write_a_set_to(own_archive, tmp_path, capsys):
    archive = own_archive()
    file = sorted(archive.references.parent.glob("*.nc"))[0]
    packed = tmp_path / "data.gz"
    packed.write_bytes(gzip.compress(bytes(range(256))))
    text = tmp_path / "old.txt"
    text.write_text("somebody's own")
    before = file.read_bytes(), packed.read_bytes()
    for target in (file, packed):
        for words in (["convert", archive.references, target], ["scan", file, "-o", target]):
            for form in ([], ["--format", "generator"]) if words[0] == "convert" else ([],):
                code, _, err = run(capsys, *words, *form)
                assert (code, "file of data, which is left alone" in err) == (1, True)
    assert (file.read_bytes(), packed.read_bytes()) == before
    for target in (text, text):  # a text, then a set
        assert run(capsys, "convert", archive.references, target)[0] == 0
    assert dict(zaro.References.open(text)) == dict(zaro.References.open(archive.references))


def test_a_folder_of_files_is_no_store(archive, tmp_path, capsys):
    code, _, err = run(capsys, "scan", archive.references.parent, "-o", tmp_path / "x.json")
    assert code == 1
    assert "holds no Zarr; the files of a folder are named one by one, or as 'folder/*.nc'" in err
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("command", ["stats", "verify", "explain"])
def test_what_is_no_set_says_what_makes_one(archive, tmp_path, capsys, command):
    zarr.create_group(tmp_path / "2.zarr", zarr_format=2)
    zarr.consolidate_metadata(zarr.create_group(tmp_path / "2c.zarr", zarr_format=2).store)
    zarr.create_group(tmp_path / "3.zarr", zarr_format=3)
    file = sorted(archive.references.parent.glob("*.nc"))[0]
    for target in (*sorted(tmp_path.iterdir()), file):
        code, _, err = run(capsys, command, target, *(["k"] if command == "explain" else []))
        assert code == 1
        assert "zaro.scan makes" in err


@pytest.mark.filterwarnings("default")
def test_warnings_are_a_line_of_ours(archive, capsys):
    code, _, err = run(capsys, "read", archive.references, "tas", "--missing", "warn")
    assert code == 0
    assert re.fullmatch(r"zaro: \d+ chunks of 'tas' are absent and read as the fill value\n", err)


@pytest.mark.parametrize("words", [["--select", "-1,:2,0"], ["--select=-1,:2,0"]])
def test_a_selection_may_begin_with_a_minus(archive, capsys, words):
    code, out, _ = run(capsys, "read", archive.references, "tas", *words, "--json")
    assert (code, json.loads(out)) == (0, zaro.open(archive.references)["tas"][-1, :2, 0].tolist())


@pytest.mark.parametrize(
    "words", [["--jobs", "0"], ["--jobs=-3"], ["--inline=-1"], ["--coord", "time=("], ["--coord", "time"]]
)
def test_options_of_scan_that_make_no_sense_end_with_2(words, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["scan", "x.nc", "-o", "x.json", *words])
    assert end.value.code == 2
    assert words[0].split("=")[0] in capsys.readouterr().err


def test_texts_are_not_written_as_npy(tmp_path, capsys):
    zarr.create_array(tmp_path / "t.zarr", shape=(2,), dtype=str, zarr_format=2)[...] = ["a", "b"]
    code, _, err = run(capsys, "read", tmp_path / "t.zarr", "-o", tmp_path / "t.npy")
    assert code == 1
    assert "--json prints them" in err
    code, _, err = run(capsys, "read", tmp_path / "t.zarr", "-o", tmp_path / "no" / "t.npy")
    assert code == 1


def test_explaining_an_array_tells_how_its_keys_are_spelled(archive, capsys):
    code, out, _ = run(capsys, "explain", archive.references, "tas")
    assert code == 1
    assert "tas has" in out
    assert "the first is '0.0.0'" in out


def test_stats_counts_every_array(archive, capsys):
    code, out, _ = run(capsys, "stats", archive.references, "--json")
    assert code == 0
    assert json.loads(out) == zaro.References.open(archive.references).stats()
    code, out, _ = run(capsys, "stats", archive.references)
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["array", "chunks", "present", "absent", "inline", "bytes", "files", "gfactor"]
    assert {line[0] for line in lines[1:]} == set(zaro.References.open(archive.references).arrays)


def test_explain_says_where_keys_lead_and_whether_they_do(archive, capsys):
    refs = zaro.References.open(archive.references)
    key = next(key for key, found in refs.items() if isinstance(found, list) and len(found) == 3)
    code, out, _ = run(capsys, "explain", archive.references, key)
    assert code == 0
    assert f"bytes {refs[key][1]}+{refs[key][2]} of {refs[key][0]}" in out
    code, out, _ = run(capsys, "explain", archive.references, key, "none/0.0")
    assert code == 1
    assert "none/0.0: not in the set" in out
