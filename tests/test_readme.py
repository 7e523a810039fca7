"""What README shows runs as it stands, on the files that it says to make."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from zaro import cli, demo

TEXT = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    kept = tmp_path / "zaro-demo"
    kept.mkdir()
    demo.make_references(demo.make_dataset(kept, months=7, grid=(24, 48), chunk=(12, 16)), kept / "refs.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_examples_run(folder):
    assert len(blocks("python")) >= 4
    code = "\n".join(blocks("python"))
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code], check=True)


def test_commands_run(folder):
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("zaro ")]
    assert len(lines) >= 3
    for line in lines:
        assert cli.main(shlex.split(line)[1:]) == 0, line


@pytest.mark.parametrize("name", ["demo", "test"])
def test_the_two_commands_are_marked_for_the_check_script(name):
    assert len(re.findall(rf"^<!-- command: {name} -->\n```sh\n.+\n```$", TEXT, re.MULTILINE)) == 1
