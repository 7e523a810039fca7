"""TIFF files: each series of images is an array; where it has overviews, each level is a group."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.foreign import with_imagecodecs
from zaro.errors import ScanError
from zaro.references.layout import join_path
from zaro.scan.draft import Chunks, Draft, Encoded, SetBuilder, decode, fill_json
from zaro.scan.gdal import band_attributes
from zaro.scan.geotiff import Geometry, geometry_of
from zaro.scan.source import Source

__all__ = ["scan_tiff"]

_CODECS: dict[int, Encoded | None] = {
    1: None,
    5: {"id": "imagecodecs_lzw"},
    8: {"id": "zlib", "level": 6},
    32773: {"id": "zaro_packbits"},
    32946: {"id": "zlib", "level": 6},
    34925: {"id": "lzma"},
    50000: {"id": "zstd", "level": 3},
}
_IMAGES = {
    7: "imagecodecs_jpeg",
    33003: "imagecodecs_jpeg2k",
    33005: "imagecodecs_jpeg2k",
    34712: "imagecodecs_jpeg2k",
    50001: "imagecodecs_webp",
    50002: "imagecodecs_jpegxl",
}
"""Codecs of whole images, which lose something: what they decode is never encoded again."""
LERC = 34887
RUN = 1 << 20
"""Bytes of a chunk of an uncompressed image whose strips do not divide it evenly."""


def scan_tiff(source: Source, builder: SetBuilder) -> None:
    """Add every image of a TIFF file.

    The first series is `data`, others `data_1` and so on, at the root. Where any has overviews, level k of
    all lies in group `k`, 0 being the whole image: levels side by side, since xarray's trees want the
    dimensions of a group to fit those of the group above it.

    Raises
    ------
    ScanError
        The file is damaged, or an image is stored in a way that no codec decodes.
    """
    import tifffile

    source.file.seek(0)
    try:
        with tifffile.TiffFile(source.path or source.file, name=source.url) as tiff:
            _series(source, builder, tiff)
    except (tifffile.TiffFileError, KeyError, IndexError, OverflowError) as err:
        raise ScanError(source.url, "", f"is no readable TIFF file: {err}") from err


def _series(source: Source, builder: SetBuilder, tiff: Any) -> None:
    file_id = builder.add_file(source.url, source.read)
    groups: dict[str, _Group] = {"": _Group()}
    deep = any(len(series.levels) > 1 for series in tiff.series)
    for number, series in enumerate(tiff.series):
        name = f"data_{number}" if number else "data"
        geometry = geometry_of(series.keyframe, series.levels[0].keyframe)
        for k, level in enumerate(series.levels):
            path = join_path(str(k) if deep else "", name)
            if builder.settings.skips(path) or (deep and builder.settings.skips(str(k))):
                continue
            image = _Image(source, builder, level, path, file_id)
            draft = image.draft()
            scaled = geometry.scaled(image.size, draft.dims) if geometry is not None else None
            group = groups.setdefault(str(k) if deep else "", _Group())
            names = group.names(draft, scaled, number)
            draft.dims = tuple(names.get(dim, dim) for dim in draft.dims)
            if scaled is not None:
                group.attrs = group.attrs or scaled.attributes()
                _coordinates(builder, str(k) if deep else "", scaled, names)
            builder.add_array(path, draft)
    for path, group in groups.items():
        builder.add_group(path, group.attrs)


@dataclass(slots=True)
class _Group:
    """The images of one group: sizes of their dimensions, where the pixels lie, attributes of the group."""

    sizes: dict[str, int] = field(default_factory=dict)
    transform: tuple[float, ...] | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    def names(self, draft: Draft, geometry: Geometry | None, number: int) -> dict[str, str]:
        """Other names for dimensions that differ from those of images before this one."""
        given = dict(zip(draft.dims, draft.shape, strict=True))
        other = {dim for dim, size in given.items() if self.sizes.get(dim, size) != size}
        if geometry is not None:
            self.transform = self.transform or geometry.transform
            moved = geometry.transform != self.transform
            other |= {"y", "x"} if moved or other & {"y", "x"} else set()
        names = {dim: f"{dim}_{number}" for dim in other}
        self.sizes |= {names.get(dim, dim): size for dim, size in given.items()}
        return names


def _coordinates(builder: SetBuilder, group: str, geometry: Geometry, names: dict[str, str]) -> None:
    """Positions of the centres of pixels along each axis."""
    for axis, values in geometry.axes().items():
        name = names.get(axis, axis)
        path = join_path(group, name)
        if path in builder.contents.layouts or builder.settings.skips(path):
            continue
        draft = Draft(values.shape, values.shape, values.dtype, (name,), attrs=geometry.axis_attributes(axis))
        draft.rows = Chunks.bytes_of({0: values.tobytes()})
        builder.add_array(path, draft)


@dataclass(slots=True)
class _Image:
    """One level of a series: pages of one shape."""

    source: Source
    builder: SetBuilder
    series: Any
    path: str
    file_id: int

    @property
    def page(self) -> Any:
        return self.series.keyframe

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.page.imagelength), int(self.page.imagewidth)

    @property
    def count(self) -> int:
        """Images: some programs note only where the first of those is that follow one another."""
        noted = len(self.series.pages)
        return max(noted, math.prod(self.series.shape) // math.prod(self.page.shape)) if noted == 1 else noted

    def error(self, reason: str) -> ScanError:
        return ScanError(self.source.url, self.path, reason)

    def draft(self) -> Draft:
        page = self.page
        if self.series.is_multifile:
            raise self.error("has images in other files")
        if any(one is None for one in self.series.pages):
            raise self.error("lacks some of its images")
        samples, planar = int(page.samplesperpixel), int(page.planarconfig) == 2
        leading, names = self._leading(samples, planar)
        inner = (int(page.tilelength), int(page.tilewidth)) if page.is_tiled else (self._rows(), self.size[1])
        shape, chunk = self.size, inner
        dims: tuple[str, ...] = ("y", "x")
        if samples > 1:
            shape = (samples, *shape) if planar else (*shape, samples)  # type: ignore[assignment]
            chunk = (1, *chunk) if planar else (*chunk, samples)  # type: ignore[assignment]
            dims = ("band", *dims) if planar else (*dims, "band")
        reason = self._unsupported()
        dtype = np.dtype(page.dtype).newbyteorder(page.parent.byteorder) if page.dtype is not None else None
        if dtype is None or page.bitspersample != dtype.itemsize * 8:
            return self._rescue(
                f"has {page.bitspersample} bits per sample", (*leading, *shape), (*names, *dims)
            )
        dtype = np.dtype(dtype.str)
        draft = Draft((*leading, *shape), (*(1 for _ in leading), *chunk), dtype, (*names, *dims))
        draft.attrs = self._attrs()
        draft.fill = self._fill(dtype)
        if reason:
            return self._rescue(reason, draft.shape, draft.dims)
        draft.filters = self._filters(dtype, inner[1], 1 if planar else samples)
        self._place(draft, math.prod(shape[:-2]) if planar and samples > 1 else 1)
        return draft

    def _leading(self, samples: int, planar: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Dimensions of the series that its pages stand along."""
        series, page = self.series, self.page
        extra = len(series.shape) - len(page.shape)
        n = self.count
        if n == 1 and extra <= 0:
            return (), ()
        leading = tuple(int(s) for s in series.shape[:extra])
        names = tuple(_AXES.get(axis, f"{axis.lower()}") for axis in series.axes[:extra])
        if math.prod(leading) != n:
            return (n,), ("page",)
        return leading, names

    def _rows(self) -> int:
        return min(int(self.page.rowsperstrip), self.size[0])

    def _unsupported(self) -> str:
        page = self.page
        code = int(page.compression)
        if code == LERC and (page.dtype.kind == "f" or page.extrasamples):
            raise self.error("is compressed by LERC, whose masks of missing values no decoder here reads")
        if code not in _CODECS and code not in _IMAGES:
            return f"is compressed by {page.compression!s}, for which there is no decoder"
        name = _IMAGES.get(code) or (_CODECS[code] or {"id": ""})["id"]
        if name.startswith("imagecodecs_") and not with_imagecodecs(name):
            return f"is compressed by {page.compression.name}, whose decoder needs the package imagecodecs"
        if code in _IMAGES and not page.is_tiled and self.size[0] % self._rows():
            return f"is compressed by {page.compression.name} in strips, of which the last is shorter"
        if code in _IMAGES and page.bitspersample != 8:
            return f"is compressed by {page.compression.name} with {page.bitspersample} bits"
        if self.series.transform is not None:
            return "has values that its program computes from those that are stored"
        if int(page.fillorder) == 2:
            return "has the bits of its bytes in reverse"
        if int(page.predictor) not in (1, 2, 3):
            return f"has predictor {page.predictor!s}, for which there is no decoder"
        if page.dtype is not None and page.dtype.kind == "c" and _CODECS.get(code) is not None:
            self._check_complex()
        return ""

    def _check_complex(self) -> None:
        """Refuse predictors of complex numbers but the one that GDAL writes and reads alike everywhere."""
        page, kind = self.page, int(self.page.predictor)
        order = page.parent.byteorder
        if kind != 1 and (kind, page.bitspersample, order) != (2, 64, "<"):
            raise self.error(
                f"has predictor {kind} of {page.dtype}, {page.bitspersample} bits in byte order {order!r}, "
                "for which there is no decoder"
            )

    def _filters(self, dtype: np.dtype[Any], width: int, samples: int) -> list[Encoded]:
        found: list[Encoded] = []
        kind = int(self.page.predictor)
        code = int(self.page.compression)
        if code in _IMAGES:
            return [{"id": _IMAGES[code], **(self._jpeg() if code == 7 else {})}]
        codec = _CODECS[code]
        if codec is None:
            return []
        if kind in (2, 3):
            found.append(
                {
                    "id": "zaro_tiff_predictor",
                    "predictor": kind,
                    "dtype": dtype.str,
                    "width": width,
                    "samples": samples,
                }
            )
        return [*found, codec]

    def _jpeg(self) -> Encoded:
        """Tables that all segments share, and which colours they hold."""
        from tifffile.tifffile import jpeg_decode_colorspace

        page = self.page
        stored, wanted = jpeg_decode_colorspace(
            page.photometric, page.planarconfig, page.extrasamples, page.is_jfif
        )
        if int(page.planarconfig) == 2:
            stored = None  # a plane of colours is grey by itself
        found = {"colorspace_jpeg": stored, "colorspace_data": wanted}
        for name, data in (("tables", page.jpegtables), ("header", page.jpegheader)):
            if data is not None:
                found[name] = base64.b64encode(data).decode()
        return {name: value for name, value in found.items() if value is not None}

    def _fill(self, dtype: np.dtype[Any]) -> Any:
        text = self.page.tags.valueof("GDAL_NODATA")
        if text is None:
            return None
        text = str(text).strip("\0 ").replace(",", ".")
        try:
            return _integer(text, dtype) if dtype.kind in "iu" else fill_json(float(text), dtype)
        except ValueError:
            return None

    def _attrs(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.page.description:
            found["description"] = str(self.page.description)
        return {**found, **band_attributes(self.page)}

    # where the segments lie

    def _place(self, draft: Draft, planes: int) -> None:
        offset, length = self._segments(draft)
        n = len(offset)
        rows, chunk_rows = self.size[0], draft.chunks[draft.dims.index("y")]
        if not self.page.is_tiled and not draft.filters and self._one_run(draft, offset, length, n):
            return
        if n != math.prod(draft.grid):
            raise self.error(f"has {n} segments, expected {math.prod(draft.grid)}")
        end = self.source.size
        if n and int((offset + length).max()) > end:
            raise self.error(
                f"has a segment that ends at byte {int((offset + length).max())}, the file at {end}"
            )
        ids = np.arange(n, dtype=np.int64)
        there = length > 0
        draft.rows = Chunks.of(ids[there], offset[there], length[there], self.file_id)
        if not self.page.is_tiled and rows % chunk_rows:
            self._pad_last(draft, chunk_rows, rows)

    def _segments(self, draft: Draft) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets and lengths of all segments."""
        pages, start = self.series.pages, self.series.dataoffset
        if self.count > len(pages):
            if start is None or draft.filters or self.page.is_tiled:
                raise self.error(
                    f"has {len(pages)} of {self.count} images, and does not say where the others are"
                )
            y = draft.dims.index("y")
            images, nbytes = math.prod(draft.shape[:y]), math.prod(draft.shape[y:]) * draft.dtype.itemsize
            return start + nbytes * np.arange(images, dtype=np.int64), np.full(images, nbytes, np.int64)
        return (
            np.concatenate([np.asarray(p.dataoffsets, np.int64) for p in pages]),
            np.concatenate([np.asarray(p.databytecounts, np.int64) for p in pages]),
        )

    def _one_run(self, draft: Draft, offset: NDArray[np.int64], length: NDArray[np.int64], n: int) -> bool:
        """Lay an uncompressed image whose strips follow one another without regard for them."""
        per_page = n // max(self.count, 1)
        y = draft.dims.index("y")
        nbytes = math.prod(draft.shape[y:]) * draft.dtype.itemsize
        runs = math.prod(draft.shape[:y])
        per_run = n // max(runs, 1)
        if not n or per_run * runs != n or per_page % per_run:
            return False
        starts, sizes = offset.reshape(runs, per_run), length.reshape(runs, per_run)
        if (starts[:, 1:] != starts[:, :-1] + sizes[:, :-1]).any() or (sizes.sum(1) != nbytes).any():
            return False
        rows, row_nbytes = self.size[0], nbytes // self.size[0]
        wanted = min(max(draft.chunks[y], 1 if not rows % draft.chunks[y] else RUN // row_nbytes), rows)
        each = next(k for k in range(max(wanted, 1), 0, -1) if rows % k == 0)
        pieces = rows // each
        at = (starts[:, :1] + np.arange(pieces) * each * row_nbytes).reshape(-1)
        if at.size and int(at.max()) + each * row_nbytes > self.source.size:
            raise self.error(f"ends behind the file, whose size is {self.source.size}")
        draft.chunks = (*draft.chunks[:y], each, *draft.chunks[y + 1 :])
        ids = np.arange(len(at), dtype=np.int64)
        draft.rows = Chunks.of(ids, at, np.full(len(at), each * row_nbytes, np.int64), self.file_id)
        return True

    def _pad_last(self, draft: Draft, chunk_rows: int, rows: int) -> None:
        """Hold the last strip of each plane in the set, since it is shorter than the others."""
        y = draft.dims.index("y")
        grid = draft.grid
        below = math.prod(grid[y + 1 :])
        last = draft.rows.ids // below % grid[y] == grid[y] - 1
        nbytes = int(last.sum()) * math.prod(draft.chunks) * draft.dtype.itemsize
        if nbytes > self.builder.settings.unsupported_inline_threshold:
            raise self.error(
                f"has {int(last.sum())} last strips of {rows % chunk_rows} rows, others have {chunk_rows}; "
                f"{nbytes} bytes, more than unsupported_inline_threshold="
                f"{self.builder.settings.unsupported_inline_threshold}"
            )
        blocks = {}
        where = np.flatnonzero(last)
        for row in where.tolist():
            stored = self.source.read(int(draft.rows.offset[row]), int(draft.rows.length[row]))
            block = np.zeros(math.prod(draft.chunks) * draft.dtype.itemsize, np.uint8)
            found = decode(stored, draft.filters)
            block[: len(found)] = found[: len(block)]
            blocks[int(draft.rows.ids[row])] = draft.encode(block.view(draft.dtype))
        draft.rows = draft.rows.without(last).adding(blocks)

    def _rescue(self, reason: str, shape: tuple[int, ...], dims: tuple[str, ...]) -> Draft:
        """Hold the values of a small image in the set, if tifffile can decode them here."""
        nbytes = math.prod(shape) * (np.dtype(self.page.dtype).itemsize if self.page.dtype is not None else 1)
        most = self.builder.settings.unsupported_inline_threshold
        if nbytes > most:
            raise self.error(
                f"{reason}; its {nbytes} bytes are more than unsupported_inline_threshold={most}"
            )
        try:
            values = np.ascontiguousarray(self.series.asarray(squeeze=False)).reshape(shape)
        except (ValueError, KeyError, RuntimeError, ImportError) as err:
            raise self.error(f"{reason}, and tifffile cannot read it here: {err}") from err
        dtype = np.dtype(values.dtype.str)
        draft = Draft(shape, shape, dtype, dims, self._fill(dtype), attrs=self._attrs())
        draft.rows = Chunks.bytes_of({0: values.tobytes()})
        return draft


def _integer(text: str, dtype: np.dtype[Any]) -> int | None:
    """The number that a text spells, `255.0` too; None for one that no element can be."""
    try:
        value = Decimal(text)  # a float rounds from 2^53 on
    except InvalidOperation:
        return None
    limits = np.iinfo(dtype)
    # the range comes first: 1E+999999999 as an integer fills the memory
    fits = value.is_finite() and limits.min <= value <= limits.max
    return int(value) if fits and value == value.to_integral_value() else None


_AXES = {"I": "image", "Q": "other", "T": "time", "Z": "z", "C": "channel", "S": "sample"}
