"""The pages keep up with the code: public names are described, figures that README quotes are on record."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import zaro
import zaro.conventions
import zaro.fsspec
import zaro.zarr

ROOT = Path(__file__).parents[1]
API = "\n".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
README = (ROOT / "README.md").read_text()
PUBLIC = [
    *(f"zaro.{name}" for name in zaro.__all__ if name not in ("config", "errors")),
    *(
        f"{module.__name__}.{name}"
        for module in (zaro.conventions, zaro.errors, zaro.fsspec, zaro.zarr)
        for name in module.__all__
    ),
]


def named(path):
    found = zaro
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def record(name):
    return json.loads((ROOT / "docs" / "figures" / f"{name}.json").read_text())


@pytest.mark.parametrize("name", PUBLIC)
def test_the_api_reference_describes_every_public_name(name):
    whole = ".. automodule:: zaro.errors\n   :members:" in API
    assert re.search(rf":: {re.escape(name)}\b", API) or (whole and named(name).__module__ == "zaro.errors")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_says_what_it_is(name):
    found = named(name)
    assert inspect.getdoc(found)
    if not inspect.isclass(found):
        return
    for member, value in vars(found).items():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(getattr(found, member)), f"{name}.{member}"


def test_every_parameter_of_the_functions_is_described():
    for name in zaro.__all__:
        function = getattr(zaro, name)
        if not inspect.isfunction(function) or not inspect.signature(function).parameters:
            continue
        text = inspect.getdoc(function).partition("Parameters\n---")[2]
        for parameter in inspect.signature(function).parameters:
            assert re.search(rf"^(\S.*)?\b{parameter}\b", text, re.MULTILINE), f"zaro.{name}: {parameter}"


def test_figures_of_peers_in_the_readme_are_those_on_record():
    seconds = {case["case"]: case["seconds"] for case in record("peers")["cases"]}
    rows = re.findall(
        r"^\| (1[^,|]+, .*?) \| (\d+) ms \| (\d+) ms \((.+?)\) \| (\d+) ms \|$", README, re.MULTILINE
    )
    assert len(rows) >= 7
    for case, zaro_, best, peer, slow in rows:
        others = {name: s for name, s in seconds[case].items() if name not in ("zaro", "limit")}
        assert peer == min(others, key=others.__getitem__)
        last = others.get("zarr-python", others.get("kerchunk"))
        assert [zaro_, best, slow] == [f"{s * 1e3:.0f}" for s in (seconds[case]["zaro"], others[peer], last)]


def test_figures_of_scale_in_the_readme_are_those_on_record():
    powers = {"10⁶": 10**6, "10⁸": 10**8}
    cells = {(cell["form"].lower(), cell["chunks"]): cell for cell in record("scale")["cells"]}
    rows = re.findall(r"^\| ([^\d|]+), (10[⁶⁸]) \| (.+) \|$", README, re.MULTILINE)
    assert len(rows) >= 4
    for form, chunks, figures in rows:
        cell = cells[form.lower(), powers[chunks]]
        told = (
            f"{cell['open_s'] * 1e3:.1f} ms",
            f"{cell['first_value_s'] * 1e3:.1f} ms",
            f"{cell['memory_bytes'] / 2**20:.0f} MiB",
            f"{cell['look_up_s'] * 1e6:.2f} µs",
            f"{cell['locate_s'] * 1e9:.0f} ns",
        )
        assert figures == " | ".join(told)


def test_the_first_figures_of_the_readme_are_those_on_record():
    times, million, hundred = map(
        int,
        re.search(r"reads (\d+) times .*? opens in\s(\d+) ms, .*? in (\d+) ms", README, re.DOTALL).groups(),
    )
    (case,) = [case for case in record("peers")["cases"] if case["case"] == "16KiB, zlib (HDF5)"]
    opened = {(cell["form"], cell["chunks"]): cell["open_s"] * 1e3 for cell in record("scale")["cells"]}
    assert times == round(case["seconds"]["kerchunk"] / case["seconds"]["zaro"])
    assert million == round(opened["json", 10**6])
    assert hundred == round(opened["parquet", 10**8])


def test_the_recipe_of_conda_needs_what_the_package_needs():
    needs = re.search(r"^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    run = re.search(r"^  run:\n((?:    - .*\n)+)", (ROOT / "docs/conda/recipe.yaml").read_text(), re.M)[1]
    wanted = {need.replace("blosc2", "python-blosc2") for need in re.findall(r'^  "(.+?)"', needs, re.M)}
    linked = {need for need in wanted if need.startswith("deflate>")}  # conda's own libdeflate
    assert {line.strip("- ").replace(" ", "") for line in run.splitlines()} == wanted - linked | {
        "python>=3.11"
    }
    assert len(linked) == 1


def test_opening_parquet_and_even_generators_does_not_grow_with_the_chunks():
    cells = record("scale")["cells"]
    for form in ("parquet", "generator, even"):
        opened = [cell["open_s"] for cell in cells if cell["form"] == form]
        memory = [cell["memory_bytes"] for cell in cells if cell["form"] == form]
        assert len(opened) == 5
        assert max(opened) < 3 * min(opened)
        assert max(memory) < 2 * min(memory)


def test_the_architecture_page_names_every_room():
    source = (ROOT / "tests" / "test_arrows.py").read_text()
    rooms = re.findall(r'"(\w+)"', source.partition("LEVELS = (")[2].partition("\n)\n")[0])
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert len(rooms) > 20
    for room in rooms:
        assert re.search(rf"`(zaro\.)?{room}`", text) or room in ("zaro", "_core"), room


def test_links_of_the_readme_lead_to_pages():
    for target in re.findall(r"\]\((docs/[^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


@pytest.mark.parametrize("name", ["peers", "reads", "scale", "archive"])
def test_records_say_where_and_with_what_they_were_made(name):
    found = record(name)
    assert all(found[fact] for fact in ("date", "commit", "machine", "system", "python"))
    assert found["packages"]["zaro"]
