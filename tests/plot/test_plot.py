"""Pictures hold the numbers of the set, whatever its names, and cost the same for any size."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import zaro
from zaro.cli import main
from zaro.errors import PlotError, ReferenceSetError
from zaro.plot.draw import chosen
from zaro.plot.measure import WIDE, look, spans
from zaro.plot.weigh import FORMS
from zaro.references.table import DenseTable

NASTY = '<script src="http://x">$x_1$ \x01 "名"'


def array(shape, chunks):
    return json.dumps(
        {
            "zarr_format": 2,
            "shape": shape,
            "chunks": chunks,
            "dtype": "<f4",
            "compressor": None,
            "filters": None,
            "fill_value": None,
            "order": "C",
        }
    )


def mixed(name="v"):
    """Six files of a row each: 3 chunks of 100 bytes, 1 of another size, 1 inline, 1 absent."""
    refs = {".zgroup": '{"zarr_format":2}', f"{name}/.zarray": array([6, 6], [1, 1])}
    for row in range(6):
        for column, length in enumerate((100, 100, 100, 40 + row)):
            refs[f"{name}/{row}.{column}"] = [f"f{row}.bin", 100 * column, length]
        refs[f"{name}/{row}.4"] = "abcd"
    refs[f"{name}/0.5"] = ["whole.bin"]
    return refs


def test_a_span_that_is_no_place_in_a_file_is_an_error_that_names_the_array():
    with pytest.raises(ReferenceSetError, match=rf"^v: bytes {2**63 - 1}\+1 of file 0: .* 64 bits"):
        look(zaro.References.open({"v/.zarray": array([1], [1]), "v/0": ["f.bin", 2**63 - 1, 1]}))


def test_a_set_of_one_step_grows_along_the_next_dimension():
    refs = {"v/.zarray": array([1, 10, 2], [1, 1, 1])}
    refs |= {f"v/0.{k}.{j}": ["f.bin", 20 * k + 10 * j, 10] for k in range(10) for j in range(2)}
    found = look(zaro.References.open(refs)).documents
    assert found.chunks.tolist() == [4, 8, 12, 16, 20]
    assert (np.diff(found.nbytes["JSON"]) > 0).all()
    assert (found.nbytes["generator"] > 0).all()


def test_numbers_are_those_of_the_set():
    (one,) = look(zaro.References.open(mixed())).arrays
    assert (one.chunks, one.uniform, one.unique, one.whole, one.inline, one.absent) == (36, 18, 6, 1, 6, 5)
    assert (one.common, one.files, one.requests) == (100, 7, 7)
    assert (one.first_file, one.last_file) == ("f0.bin", "whole.bin")
    assert one.nbytes == sum(300 + 40 + row + 4 for row in range(6))
    assert sum(count for _, _, count in spans(one.lengths)) == 18 + 6 + 6
    cells = one.cells
    np.testing.assert_array_equal(cells.total, np.ones((6, 6)))
    np.testing.assert_array_equal(cells.present[5], [1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(cells.inline[4], np.ones(6))
    np.testing.assert_allclose(cells.file[0], np.arange(6) / 6)
    assert np.isnan(cells.file[4]).all()


@pytest.mark.parametrize("grid", [(), (7,), (1, 5), (5, 1, 3), (2, 1000), (1000, 3, 2), (0, 4)])
def test_every_chunk_lies_in_one_cell_of_the_map(grid):
    refs = {"v/.zarray": array(list(grid), [1] * len(grid))}
    n = int(np.prod(grid, dtype=int))
    keys = [".".join(map(str, np.unravel_index(k, grid))) if grid else "0" for k in range(n)]
    refs |= {f"v/{key}": ["f.bin", k, 1] for k, key in enumerate(keys) if k % 3}
    (one,) = look(zaro.References.open(refs)).arrays
    assert one.cells.total.sum() == n
    assert one.cells.present.sum() == one.present == sum(k % 3 > 0 for k in range(n))
    assert (one.cells.present <= one.cells.total).all()
    assert max(one.cells.total.shape, default=0) <= WIDE


def test_documents_weigh_what_is_written(tmp_path):
    refs = zaro.References.open(mixed())
    found = look(refs).documents
    assert found.measured == len(found.chunks) == 5
    for form, how in FORMS.items():
        target = tmp_path / f"{form}.{'parquet' if form == 'Parquet' else 'json'}"
        refs.save(target, **how)
        written = [target] if target.is_file() else [path for path in target.rglob("*") if path.is_file()]
        assert found.nbytes[form][-1] == sum(map(os.path.getsize, written))
    assert (np.diff(found.nbytes["JSON"]) > 0).all()


def large(nchunks):
    refs = zaro.References.open({"v/.zarray": array([nchunks // 100, 100], [1, 1])})
    n = np.arange(nchunks)
    table = DenseTable(
        (n // 10_000).astype("i4"), 1000 * n, np.full(nchunks, 1000), [f"f{k}" for k in range(1000)]
    )
    refs.contents.tables["v"] = table
    return refs


def test_a_large_set_is_binned_and_its_documents_are_estimated(monkeypatch):
    monkeypatch.setattr("zaro.plot.weigh.WRITTEN", 50_000)
    found = look(large(1_000_000))
    (one,) = found.arrays
    assert one.cells.total.size <= 480 * 96
    assert 2 <= found.documents.measured < len(found.documents.chunks)
    sizes = found.documents.nbytes["JSON"]
    assert sizes[-1] / sizes[1] == pytest.approx(
        found.documents.chunks[-1] / found.documents.chunks[1], rel=0.1
    )


def test_a_grid_that_is_almost_empty_costs_nothing():
    refs = {"v/.zarray": array([60_000, 60_000, 4_000], [1, 1, 1]), "v/3.4.5": ["x.bin", 3, 5]}
    (one,) = look(zaro.References.open(refs)).arrays
    assert one.cells.total.sum() == one.chunks == 60_000 * 60_000 * 4_000
    assert one.cells.present.sum() == one.present == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_written(tmp_path, ending, theme):
    target = tmp_path / f"out.{ending}"
    figure = zaro.References.open(mixed(NASTY)).plot(target, theme=theme)
    assert figure.get_size_inches()[0] == 11
    raw = target.read_bytes()
    if ending == "png":
        assert raw.startswith(b"\x89PNG")
    else:
        assert ElementTree.fromstring(raw).tag.endswith("svg")
        zaro.References.open(mixed(NASTY)).plot(tmp_path / "again.svg", theme=theme)
        assert (tmp_path / "again.svg").read_bytes() == raw
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.words = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "srcset", "href")]

    def handle_data(self, data):
        self.words.append(data)


def test_a_page_holds_everything_and_reaches_for_nothing(tmp_path):
    target = tmp_path / "out.html"
    zaro.References.open(mixed(NASTY)).plot(target)
    page = Page()
    page.feed(target.read_text())
    assert not page.tags & {"script", "link", "iframe", "object"}
    assert len(page.links) == 8  # four pictures, light and dark
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert "@import" not in target.read_text()
    assert not re.search(r"url\(", target.read_text())
    words = " ".join(page.words)
    assert NASTY in words
    for fact in ("6 x 6", "36", "18", "100 B", "compact generator", "f0.bin", "whole.bin"):
        assert fact in words


def test_a_picture_of_nothing_is_a_picture(tmp_path):
    for refs in ({".zgroup": '{"zarr_format":2}'}, {"v/.zarray": array([0, 4], [1, 2])}):
        zaro.References.open(refs).plot(tmp_path / "out.png")
        zaro.References.open(refs).plot(tmp_path / "out.html")


def test_of_many_arrays_the_largest_are_drawn(tmp_path):
    refs = {}
    for k in range(30):
        refs[f"v{k}/.zarray"] = array([k + 1], [1])
    found = look(zaro.References.open(refs)).arrays
    assert [one.path for one in chosen(found)] == [f"v{k}" for k in range(18, 30)]


def test_the_command_draws(tmp_path, capsys):
    refs = tmp_path / "refs.json"
    refs.write_text(json.dumps(mixed() | {"w/.zarray": array([3], [1])}))
    out = tmp_path / "out.svg"
    assert main(["plot", str(refs), "-o", str(out), "--array", "w", "--theme", "dark"]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert b"<svg" in out.read_bytes()
    assert main(["plot", str(refs), "-o", str(tmp_path / "out.pdf")]) == 1
    assert "ends in none of .png, .svg, .html" in capsys.readouterr().err
    assert main(["plot", str(refs), "-o", str(out), "--array", "x"]) == 1
    assert "no array at 'x'" in capsys.readouterr().err


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"pip install 'zaro\[plot\]'"):
        zaro.References.open(mixed()).plot()


def test_a_map_of_many_chunks_names_them_in_whole_numbers():
    refs = {"v/.zarray": array([3_000_000], [1]), "v/2999999": ["f.bin", 0, 4]}
    figure = zaro.References.open(refs).plot()
    figure.canvas.draw()
    shown = [label.get_text() for axes in figure.axes for label in axes.get_xticklabels()]
    assert "1,000,000" in shown
    assert not any(axes.xaxis.get_offset_text().get_text() for axes in figure.axes)
