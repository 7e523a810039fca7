"""What pages show and the documentation build does not execute: blocks of Python, and lines for a shell."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zaro
from zaro.cli.run import _parser

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TEXTS = {str(page.relative_to(ROOT)): page.read_text() for page in PAGES}


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


SHELL = [
    (page, line.partition("  #")[0].strip())
    for page, text in TEXTS.items()
    for block in blocks("sh", text)
    for line in block.splitlines()
]
PYTHON = [
    (page, block) for page, text in TEXTS.items() if page != "README.md" for block in blocks("python", text)
]
SCRIPTS = sorted({word for _, line in SHELL for word in re.findall(r"asv_bench/\w+\.py", line)})


@pytest.fixture
def sets(tmp_path):
    """The sets that the first page opens: an array `sst` in `refs.json` and in `refs.parquet`."""
    values = np.arange(600 * 8, dtype="<i4").reshape(1, 600, 8)
    document = {"zarr_format": 2, "shape": [1, 600, 8], "chunks": [1, 600, 8], "dtype": "<i4", "order": "C"}
    document |= {"compressor": None, "filters": None, "fill_value": None}
    (tmp_path / "sst.bin").write_bytes(values.tobytes())
    refs = {
        ".zgroup": '{"zarr_format":2}',
        "sst/.zarray": json.dumps(document),
        "sst/.zattrs": '{"_ARRAY_DIMENSIONS":["time","lat","lon"]}',
        "sst/0.0.0": [str(tmp_path / "sst.bin"), 0, values.nbytes],
    }
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))
    zaro.References.open(refs).save(tmp_path / "refs.parquet")
    return tmp_path


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[page for page, _ in PYTHON])
def test_python_that_no_build_executes_runs(sets, page, code):
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code]
    subprocess.run(command, check=True, cwd=sets)


@pytest.mark.parametrize(("page", "line"), SHELL, ids=[f"{page}: {line}" for page, line in SHELL])
def test_what_a_line_for_a_shell_names_is_there(page, line):
    words = shlex.split(line.replace("$(", " ").replace(")", " "))
    named = [word for word in words if re.match(r"(\.ci|asv_bench|csrc|docs)\b", word)]
    made = {"docs/figures/scale.json", "docs/figures/archive.json"}  # by the line itself, and on record
    assert all((ROOT / word).exists() for word in [*named, *made])
    for extra in re.findall(r"\.\[(\w+)\]", line):
        assert re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    for option in re.findall(r"-D(ZARO_\w+)=", line):
        assert option in (ROOT / "csrc" / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_have_the_options_that_pages_give_them(script):
    told = subprocess.run(
        [sys.executable, str(ROOT / script), "--help"], capture_output=True, text=True, check=True
    ).stdout
    known = set(re.findall(r"--[\w-]+", told))
    given = {word for _, line in SHELL if script in line for word in re.findall(r"--[\w-]+", line)}
    assert given <= known


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return found.choices


def test_commands_that_pages_name_exist():
    known = commands()
    named = {
        name
        for text in TEXTS.values()
        for name in re.findall(r"(?:`|^!|/)zaro ([a-z]+)\b", text, re.MULTILINE)
    }
    assert len(named) >= 8
    assert named <= set(known)


def test_options_that_pages_name_exist():
    known = {option for parser in commands().values() for option in parser._option_string_actions}
    others = {
        "--platform",
        "--print-build-identifiers",
        "--tool",
        "--quick",
        "--keep-going",
        "--validate",
    }  # not zaro's
    for page, text in TEXTS.items():
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        named = {
            word
            for quoted in re.findall(r"`([^`\n]*)`", prose)
            for word in re.findall(r"--[a-z][\w-]*", quoted)
        }
        assert named - others <= known, page
