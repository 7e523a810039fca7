"""Documents, metadata and partitions, changed at random: a value or an error of zaro, soon.

`ZARO_TRUST_FUZZ=600 pytest -s -k mutations` lets each kind run for ten minutes, and shows what came out.
"""

import contextlib
import copy
import itertools
import json
import os
import random
import signal
import time
from collections import Counter

import hostile_partitions
import numpy as np
import pytest
from cases import REFS, VALUES, damaged
from hostile_metadata import V2, V3, sharded

import zaro

SECONDS = float(os.environ.get("ZARO_TRUST_FUZZ", "1.5"))
TOO_LONG = 20  # seconds of the processor for one of them
WAITS = 120  # seconds of the clock

ODD = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 0.5, -0.0, 1e300, float("nan")),
    *("", "0", "-1", "x", "..", "../x", "/etc/passwd", "a\0b", "{{", "{{u}}", "{{ i * 16 }}", "base64:"),
    *("\ud800", "NaN", "<i4", "|O", "<M8[ns]", "|V0", "blosc", "zlib", "pickle", "sharding_indexed", "C"),
    *([], {}, [[]], [None], [-1], [0], [4], [8], [1, 1], [2**40]),
    *({"id": "zlib"}, {"name": "gzip"}, {"a": {"b": []}}),
]


def places(value, path=()):
    """Every place in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def mutated(document, chance):
    """The document with a few places put to something odd, left out, doubled or moved."""
    found = copy.deepcopy(document)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        path = chance.choice(list(places(found)))
        if not path:
            continue
        holder = found
        for key in path[:-1]:
            holder = holder[key]
        match chance.randrange(5):
            case 0 if isinstance(holder, dict):
                holder[str(chance.choice(ODD))] = holder.pop(path[-1])
            case 1:
                del holder[path[-1]]
            case 2:
                other = found
                for key in chance.choice(list(places(found))):
                    other = other[key]
                holder[path[-1]] = copy.deepcopy(other)
            case _:
                holder[path[-1]] = copy.deepcopy(chance.choice(ODD))
    return found


def spelled(document, chance):
    """Its text; sometimes with a few bytes wrong as well."""
    text = json.dumps(document).encode()
    return damaged(text, chance.randrange(2**32)) if chance.random() < 0.2 and text else text


def read_all(target):
    """Everything that a reader may ask for."""
    names = zaro.list(target)
    for path, kind in list(names.items())[:8]:
        node = zaro.open(target, path.strip("/"))
        repr(node), node._repr_html_()
        if kind == "array" and node.nbytes < 1 << 20:
            node[...]


CODECS_V2 = [
    {"compressor": {"id": "zlib", "level": 1}},
    {"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}},
    {"filters": [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}]},
    {"filters": [{"id": "fixedscaleoffset", "scale": 2, "offset": 1, "dtype": "<f8", "astype": "<i2"}]},
    {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": ""},
    {"dtype": [["a", "<i4"], ["b", "<f8", [2]]], "fill_value": None},
]
ZSTD = {"name": "zstd", "configuration": {"level": 1}}
CODECS_V3 = [sharded([2]), [*V3["codecs"], {"name": "crc32c"}, ZSTD]]
STANDARD = {"key": "x/{{i}}", "url": "data.bin", "offset": "{{i * 16}}", "length": "16"}
DOCUMENTS = [
    {"version": 1, "refs": {**REFS, ".zattrs": '{"a": 1}', "x/.zattrs": '{"_ARRAY_DIMENSIONS": ["t"]}'}},
    {"version": 1, "refs": REFS, "templates": {"u": "data.bin", "v": "{{u}}"}},
    {
        "version": 1,
        "refs": {key: REFS[key] for key in (".zgroup", "x/.zarray")},
        "gen": [{**STANDARD, "dimensions": {"i": {"stop": 2}}}],
    },
    {
        "version": 1,
        "refs": {key: REFS[key] for key in (".zgroup", "x/.zarray")},
        "gen": {
            "files": [[2, "data.bin"]],
            "variables": ["x"],
            "varwise": True,
            "dims": [2],
            "dimensions": {"i": {"stop": "2"}},
            "start": "0",
            "lengths": [16],
            "unique": {"ids": [1], "lengths": [15]},
            "gaps": {"ids": [1], "lengths": [1]},
            "skipchunks": {"0": [1]},
        },
    },
]


def documents(folder, chance):
    document = chance.choice(DOCUMENTS)
    if chance.random() < 0.4:  # the metadata in it, too
        document = copy.deepcopy(document)
        document["refs"]["x/.zarray"] = json.dumps(mutated({**V2, **chance.choice(CODECS_V2)}, chance))
    (folder / "refs.json").write_bytes(spelled(mutated(document, chance), chance))
    return folder / "refs.json"


def old_metadata(folder, chance):
    (folder / "x").mkdir(exist_ok=True)
    document = mutated({**V2, **chance.choice([{}, *CODECS_V2])}, chance)
    (folder / "x" / ".zarray").write_bytes(spelled(document, chance))
    (folder / "x" / "0").write_bytes(chance.randbytes(chance.choice([0, 16, 40])))
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    return folder


def new_metadata(folder, chance):
    (folder / "x" / "c").mkdir(parents=True, exist_ok=True)
    codecs = chance.choice([V3["codecs"], *CODECS_V3])
    document = mutated({**V3, "codecs": codecs}, chance)
    (folder / "x" / "zarr.json").write_bytes(spelled(document, chance))
    (folder / "x" / "c" / "0").write_bytes(chance.randbytes(chance.choice([0, 16, 52, 100])))
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    return folder


def consolidated(folder, chance):
    document = {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, "x/.zarray": V2}}
    (folder / ".zmetadata").write_bytes(spelled(mutated(document, chance), chance))
    return folder


def headers(folder, chance):
    target = folder / "refs.parquet"
    if not target.exists():
        hostile_partitions.write(folder)
    document = mutated(hostile_partitions.HEADER, chance)
    (target / ".zmetadata").write_bytes(spelled(document, chance))
    return target


def partitions(folder, chance):
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / "refs.parquet"
    if not target.exists():
        hostile_partitions.write(folder)
    rows = {
        "path": [["data.bin", "data.bin"], ["", None], ["{{u}}", "../x"], [b"\xff", b"x"]],
        "offset": [[0, 16], [-1, 2**62], [0.5, float("nan")], [None, 0]],
        "size": [[16, 16], [0, 0], [2**62, -1], [None, 1.5]],
        "raw": [[None, None], [b"base64:@", b""], ["a", "b"], [VALUES[:4].tobytes(), None]],
    }
    columns = {name: some[0] if chance.random() < 0.6 else chance.choice(some) for name, some in rows.items()}
    if chance.random() < 0.2:
        del columns[chance.choice(list(columns))]
    pq.write_table(
        pa.table(columns), target / hostile_partitions.KEY, compression=chance.choice(["zstd", "snappy"])
    )
    if chance.random() < 0.7:
        raw = (target / hostile_partitions.KEY).read_bytes()
        (target / hostile_partitions.KEY).write_bytes(damaged(raw, chance.randrange(2**32)))
    return target


@pytest.mark.parametrize("make", [documents, old_metadata, new_metadata, consolidated, headers, partitions])
def test_what_is_changed_at_random_is_read_or_refused(tmp_path, make):
    def too_long(signum, frame):
        raise AssertionError(f"takes more than {TOO_LONG} s of the processor, or {WAITS} s of the clock")

    outcomes: Counter[str] = Counter()
    VALUES.tofile(tmp_path / "data.bin")
    with contextlib.suppress(zaro.ZaroError):
        read_all(make(tmp_path, random.Random(0)))  # which imports what all of them need
    alarms = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before, until = {of: signal.signal(of, too_long) for of in alarms}, time.monotonic() + SECONDS
    try:
        for seed in itertools.count():
            signal.setitimer(signal.ITIMER_PROF, TOO_LONG)
            signal.setitimer(signal.ITIMER_REAL, WAITS)
            try:
                with np.errstate(all="ignore"):
                    read_all(make(tmp_path, random.Random(seed)))
                outcomes["read"] += 1
            except zaro.ZaroError as err:
                outcomes[type(err).__name__ if str(err) else "says nothing"] += 1
            except Exception as err:
                raise AssertionError(f"seed {seed}: {type(err).__name__}: {err}") from err
            if time.monotonic() > until:
                break
    finally:
        for of, timer in alarms.items():
            signal.setitimer(timer, 0)
            signal.signal(of, before[of])
    print(f"{make.__name__}: {outcomes.total()} in {SECONDS:g} s, {dict(outcomes.most_common())}")
    assert outcomes.total() > 3
    assert not outcomes["says nothing"]
