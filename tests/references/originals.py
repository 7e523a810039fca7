"""The original's reading of a reference set, and documents to read: for tests that compare."""

import base64
import io
import json
from contextlib import contextmanager

from fsspec.implementations.reference import ReferenceFileSystem
from hypothesis import strategies as st


def original(document, **options):
    """What fsspec makes of a document, as key -> list or bytes; null references left out.

    Objects are given to it as text: its own text of them depends on whether ujson is installed.
    """
    refs = document.get("refs", document)
    refs = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in refs.items()}
    document = {"version": 1, **document, "refs": refs} if "refs" in document else refs
    references = ReferenceFileSystem(fo=document, remote_protocol="file", **options).references
    return {key: plain(value) for key, value in references.items() if value is not None}


def plain(value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return base64.b64decode(value[7:]) if value.startswith(b"base64:") else value
    return list(value)


def in_pieces(text, sizes):
    """A file that gives so many bytes at each read, over and over."""

    class Pieces(io.BytesIO):
        turn = 0

        def readinto(self, room):
            size = sizes[self.turn % len(sizes)]
            self.turn += 1
            return super().readinto(memoryview(room)[:size])

    @contextmanager
    def source():
        yield Pieces(text)

    return source


def zarray(shape, chunks, separator=None):
    document = {"shape": shape, "chunks": chunks, "dtype": "<i2", "zarr_format": 2, "order": "C"}
    return document if separator is None else {**document, "dimension_separator": separator}


def zarr_json(shape, chunks, name="default", separator=None):
    return {
        "node_type": "array",
        "zarr_format": 3,
        "shape": shape,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": name, "configuration": {"separator": separator} if separator else {}},
    }


urls = st.one_of(
    st.sampled_from(["/data/a.nc", "/data/b.nc", "s3://bucket/é/c.nc", 'http://h/"q"\\', "/d/\x00\n", ""]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8).map("/x/".__add__),
)
offsets = st.one_of(st.integers(0, 5000), st.integers(0, 2**63 - 1))
texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12).filter(
        lambda text: not text.startswith("base64:")
    ),
    st.binary(max_size=9).map(lambda data: "base64:" + base64.b64encode(data).decode()),
)
references = st.one_of(
    st.tuples(urls, offsets, offsets).map(list),
    st.tuples(urls).map(list),
    texts,
    st.none(),
    st.dictionaries(
        st.text("ab", max_size=2), st.sampled_from([1, 2.5, "x", None, [1], float("inf")]), max_size=2
    ),
)
paths = st.sampled_from(["", "x", "y", "g/x", "2020", "g/2020/c", "c"])


@st.composite
def arrays(draw):
    """Path, metadata as key and object, and keys of chunks: canonical ones, others, none."""
    path = draw(paths)
    grid = draw(st.lists(st.integers(0, 12), max_size=3))
    shape, chunks = [2 * n for n in grid], [2] * len(grid)
    separator = draw(st.sampled_from([None, ".", "/"]))
    if draw(st.booleans()):
        name, document = ".zarray", zarray(shape, chunks, separator)
        lead, separator = "", separator or "."
    else:
        encoding = draw(st.sampled_from(["default", "v2"]))
        name, document = "zarr.json", zarr_json(shape, chunks, encoding, separator)
        separator = separator or ("/" if encoding == "default" else ".")
        lead = "c" if encoding == "default" else ""
    start = f"{path}/" if path else ""
    keys = []
    for index in draw(st.lists(st.tuples(*[st.integers(0, n + 1) for n in grid]), max_size=8)):
        parts = [*([lead] if lead else []), *map(str, index)]
        keys.append(start + (separator.join(parts) or "0"))
    keys += draw(
        st.lists(st.sampled_from(["0", "00", "0.0", "c", "c/0", "c.0", "1/0", "-1", "x"]), max_size=2).map(
            lambda names: [start + name for name in names]
        )
    )
    return start + name, document, keys


@st.composite
def reference_sets(draw):
    """A mapping of references: arrays before or after their chunks, and other files."""
    entries = []
    for key, document, keys in draw(st.lists(arrays(), max_size=3)):
        entries.append(
            (key, draw(st.sampled_from([document, json.dumps(document), json.dumps(document, indent=1)])))
        )
        entries += [(key, draw(references)) for key in keys]
    others = st.sampled_from([".zgroup", "x/.zattrs", "a.txt", "g/b", "1", "x/y/z/0.0", "é", "", "/", "//0"])
    entries += draw(st.lists(st.tuples(others, references), max_size=4))
    return dict(draw(st.permutations(entries)))


@st.composite
def spellings(draw, document):
    """JSON text of a document, in one of the ways in which people write it."""
    text = json.dumps(
        document,
        indent=draw(st.sampled_from([None, None, 2])),
        ensure_ascii=draw(st.booleans()),
        sort_keys=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (" ,\t", "\r\n:\n")])),
    )
    if draw(st.booleans()):
        text = text.replace("/", "\\/")  # as ujson does
    return text.encode()
