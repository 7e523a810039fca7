"""Reference documents that a stranger wrote."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import ARRAY, GOOD, REFS, VALUES, Case, Promise, bomb, error, reads, reads_damaged

import zaro

CASES: list[Case] = []


def refs(**changes: Any) -> dict[str, Any]:
    """The good references, with some changed: `x__0` is the key `x/0`; None takes one out."""
    changed = {**REFS, **{key.replace("__", "/"): value for key, value in changes.items()}}
    return {key: value for key, value in changed.items() if value is not None}


def document(changed: dict[str, Any] | None = None, **members: Any) -> str:
    return json.dumps({"version": 1, "refs": REFS if changed is None else changed, **members})


def array(**changes: Any) -> str:
    return json.dumps({**ARRAY, **changes})


def case(name: str, text: str | bytes | Callable[[], bytes], promise: Promise, **more: Any) -> None:
    ending = more.pop("ending", ".json")
    read = more.pop("read", None)

    def make(folder: Path) -> None:
        raw = text() if callable(text) else text
        (folder / f"refs{ending}").write_bytes(
            raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
        )
        VALUES.tofile(folder / "data.bin")

    CASES.append(Case(f"document, {name}", make, read or reads(f"refs{ending}"), promise, **more))


SET = "ReferenceSetError"

# ---- good ones, as controls --------------------------------------------------------------------

case("as it should be", document(), GOOD)
case("of version 0", json.dumps(REFS), GOOD)
case("with a byte order mark", "\ufeff" + document(), GOOD)
case("in gzip", lambda: gzip.compress(document().encode()), GOOD, ending=".json.gz")
case("with spaces around everything", json.dumps(json.loads(document()), indent=8), GOOD)
case("with escapes in keys", document().replace('"x/0"', '"\\u0078\\/0"'), GOOD)
case(
    "with a key that is listed twice, the last counts",
    document().replace(
        '"x/0": ["data.bin", 0, 16]', '"x/0": ["none.bin", 0, 16], "x/0": ["data.bin", 0, 16]'
    ),
    GOOD,
)
case("with a number as a float that is whole", document().replace("0, 16]", "0.0, 16.0]"), GOOD)
case("with exponents", document().replace('["data.bin", 16, 16]', '["data.bin", 1.6e1, 160e-1]'), GOOD)
case("with an unknown member", document(comment={"a": [1, 2, {"b": None}]}), GOOD)
case("with a template", document(refs(x__0=["{{u}}", 0, 16]), templates={"u": "data.bin"}), GOOD)
case(
    "with a chunk in base64",
    document(refs(x__0="base64:" + base64.b64encode(VALUES[:4].tobytes()).decode())),
    GOOD,
)
case(
    "with a generator",
    document(
        refs(x__0=None, x__1=None),
        gen=[
            {
                "key": "x/{{i}}",
                "url": "data.bin",
                "offset": "{{i * 16}}",
                "length": "16",
                "dimensions": {"i": {"stop": 2}},
            }
        ],
    ),
    GOOD,
)
case("with a thousand unknown members", document(**{f"m{k}": k for k in range(1000)}), GOOD)
case("with a slash in a name", document(refs(**{"a__b__c": "text"})), GOOD)

# ---- no document at all ------------------------------------------------------------------------

case("that is empty", b"", error(SET, "refs.json"))
case("of spaces", b" \n" * 100, error(SET, "refs.json"))
case("that breaks off", document()[:-20], error(SET, "refs.json"))
case("that breaks off in a key", document()[:40], error(SET, "refs.json"))
case("that breaks off in an escape", b'{"version":1,"refs":{"a\\u00', error(SET, "refs.json"))
case("that goes on after its end", document() + "{}", error(SET, "refs.json"))
case("that is a list", b"[1, 2]", error(SET, "refs.json"))
case("that is a number", b"17", error(SET, "refs.json"))
case("that is null", b"null", error(SET, "refs.json"))
case(
    "that is a login page", b"<!DOCTYPE html><html><body>Please log in</body></html>", error(SET, "refs.json")
)
case("of zeros", bytes(4096), error(SET, "refs.json"))
case("of random bytes", np.random.default_rng(0).bytes(4096), error(SET, "refs.json"))
case("in UTF-16", document().encode("utf-16"), error(SET, "refs.json"))
case(
    "that is no UTF-8",
    document().encode().replace(b"data.bin", b"d\xff\xfeta.bin"),
    error(SET, "refs.json", "UTF-8"),
)
case(
    "with overlong UTF-8",
    document().encode().replace(b"data.bin", b"d\xc0\xafta.bin"),
    error(SET, "refs.json", "UTF-8"),
)
case(
    "with a control character in text", document().replace("data.bin", "data\x01bin"), error(SET, "refs.json")
)
case("with a NUL in text", document().encode().replace(b"data.bin", b"data\0bin"), error(SET, "refs.json"))
case(
    "with NaN for an offset",
    document(refs(x__0=["data.bin", float("nan"), 16])),
    error(SET, "refs.json", "x/0"),
)
case("with a trailing comma", document()[:-2] + ",}}", error(SET, "refs.json"))
case("with a comment", document().replace("{", "{ // hello\n", 1), error(SET, "refs.json"))
case("with single quotes", document().replace('"', "'"), error(SET, "refs.json"))
case(
    "with a lone surrogate in a file's name",
    document().replace("data.bin", "d\\ud800.bin"),
    error("ZaroError"),
)

# ---- sizes, counts and nesting -----------------------------------------------------------------

case(
    "that nests a million deep",
    b'{"version":1,"refs":{},"gen":' + b"[" * 10**6 + b"]" * 10**6 + b"}",
    error(SET, "refs.json"),
)
case(
    "with a reference that nests deep",
    b'{"version":1,"refs":{"x/0":' + b"[" * 10**5 + b"]" * 10**5 + b"}}",
    error(SET, "refs.json"),
)
case(
    "with metadata that nests deep",
    document(refs(x__zarray=None, **{"x/.zarray": '{"zarr_format":2,"shape":' + "[" * 50000})),
    error("MetadataError", "x/.zarray"),
)
case(
    "with an object for metadata that nests deep",
    b'{"version":1,"refs":{"x/.zarray":' + b'{"a":' * 50000 + b"1" + b"}" * 50000 + b"}}",
    error("ZaroError", "refs.json"),
)
case(
    "with templates that nest deep",
    document(templates={"a": {"b": "c"}}),
    error("TemplateError", "refs.json", "a"),
)
case(
    "with a number of a million digits",
    document().replace(", 16]", ", " + "1" * 10**6 + "]", 1),
    error(SET, "refs.json", "x/0"),
)
case("with a key of a million letters", document(refs(**{"k" * 10**6: ["data.bin", 0, 1]})), GOOD)
case(
    "with a file's name of a million letters",
    document(refs(x__0=["f" * 10**6, 0, 16])),
    error("ChunkError", "x/0"),
)
case(
    "with ten thousand keys that are one",
    (
        '{"version":1,"refs":{'
        + '"x/0":["data.bin",0,16],' * 10**4
        + document()[document().index('".zgroup"') :]
    ).encode(),
    GOOD,
)
case(
    "of many objects that are not used",
    b'{"version":1,"refs":{' + b'"a":{},' * 10**5 + document()[document().index('".zgroup"') :].encode(),
    GOOD,
)

# ---- references --------------------------------------------------------------------------------

for label, value in {
    "a negative offset": ["data.bin", -1, 16],
    "a negative length": ["data.bin", 0, -16],
    "an offset of 2^63": ["data.bin", 2**63, 16],
    "an offset of 2^64": ["data.bin", 2**64, 16],
    "a length of 2^63": ["data.bin", 0, 2**63],
    "an offset of 10^400": ["data.bin", 10**400, 16],
    "an offset with a fraction": ["data.bin", 0.5, 16],
    "an offset of 1e300": ["data.bin", 1e300, 16],
    "an offset as text": ["data.bin", "0", 16],
    "an offset of null": ["data.bin", None, 16],
    "an offset of true": ["data.bin", True, 16],
    "an offset that is a list": ["data.bin", [0], 16],
    "no length": ["data.bin", 0],
    "four members": ["data.bin", 0, 16, 1],
    "no members": [],
    "a number for a file": [7, 0, 16],
    "null for a file": [None],
    "a list for a file": [["data.bin"]],
    "an object for a file": [{"url": "data.bin"}],
    "a number": 17,
    "true": True,
}.items():
    case(f"with a reference of {label}", document(refs(x__0=value)), error(SET, "refs.json", "x/0"))
CHUNK = "ChunkError"
case(
    "with a reference of null",
    document({**REFS, "x/0": None}),
    GOOD,
    read=reads("refs.json", expected=[-1] * 4 + VALUES[4:].tolist()),
)
case(
    "with a file that is not there", document(refs(x__0=["none.bin", 0, 16])), error(CHUNK, "x/0", "none.bin")
)
case(
    "with a span past the end",
    document(refs(x__0=["data.bin", 24, 16])),
    error(CHUNK, "x/0", "data.bin", "24"),
)
case(
    "with a span far past the end",
    document(refs(x__0=["data.bin", 2**62, 16])),
    error(CHUNK, "x/0", "data.bin"),
)
case(
    "with a span that is short",
    document(refs(x__0=["data.bin", 0, 15])),
    error(CHUNK, "x/0", "data.bin", "15"),
)
case(
    "with a span that is long",
    document(refs(x__0=["data.bin", 0, 17])),
    error(CHUNK, "x/0", "data.bin", "17"),
)
case("with a span of nothing", document(refs(x__0=["data.bin", 0, 0])), error(CHUNK, "x/0", "data.bin"))
case(
    "with a span of 2^62 bytes", document(refs(x__0=["data.bin", 0, 2**62])), error(CHUNK, "x/0", "data.bin")
)
case("with a whole file that is long", document(refs(x__0=["data.bin"])), error(CHUNK, "x/0", "data.bin"))
case("with an empty file's name", document(refs(x__0=["", 0, 16])), error("ZaroError", "x/0"))
case("with a folder for a file", document(refs(x__0=[".", 0, 16])), error(CHUNK, "x/0"))
case(
    "with a span whose end is 2^63",
    document(refs(x__0=["data.bin", 2**62, 2**62])),
    error(CHUNK, "x/0", "data.bin"),
)
case(
    "with a NUL in a file's name",
    document(refs(x__0=["data.bin\0", 0, 16])),
    error("StoreError", "NUL", "data.bin"),
)
case(
    "with an unknown protocol",
    document(refs(x__0=["gopher://host/data", 0, 16])),
    error(CHUNK, "x/0", "gopher"),
)
case("with a protocol of nonsense", document(refs(x__0=["://", 0, 16])), error(CHUNK, "x/0"))
case("with a chain of nonsense", document(refs(x__0=["zip::::::", 0, 16])), error(CHUNK, "x/0"))
case(
    "with a thousand links in a chain",
    document(refs(x__0=["::".join(["simplecache"] * 1000) + "::data.bin", 0, 16])),
    error(CHUNK, "x/0"),
)
case(
    "with a variable of the environment in a name",
    document(refs(x__0=["$HOME/{HOME}/%HOME%/data.bin", 0, 16])),
    error(CHUNK, "x/0", "$HOME"),
)
case("with a home in a name", document(refs(x__0=["~/data.bin", 0, 16])), error(CHUNK, "x/0", "~"))
case("with base64 that is none", document(refs(x__0="base64:@@@@")), error("ZaroError", "x/0"))
case("with base64 that is cut", document(refs(x__0="base64:AAA")), error("ZaroError", "x/0"))
case("with inline text that is too short", document(refs(x__0="abc")), error(CHUNK, "x/0", "inline"))
case("with inline text that is too long", document(refs(x__0="a" * 10**5)), error(CHUNK, "x/0", "inline"))

# ---- keys --------------------------------------------------------------------------------------

for label, key in {
    "climbs": "../../x/0",
    "climbs within": "x/../../y/0",
    "is absolute": "/x/0",
    "is empty": "",
    "is a NUL": "\0",
    "has a NUL": "x/0\0",
    "is a dot": ".",
    "has many slashes": "x" + "/" * 1000 + "0",
    "has an index of 2^64": f"x/{2**64}",
    "has an index of a thousand digits": "x/" + "9" * 1000,
    "has an index below 0": "x/-1",
    "has an index with zeros before it": "x/00",
    "lies beyond the grid": "x/2",
    "has too many indices": "x/0.0.0.0",
}.items():
    case(f"with a key that {label}", document(refs(**{key: ["none.bin", 0, 16]})), GOOD)
case(
    "with an array at a path that climbs",
    document({**REFS, "../y/.zarray": array(), "../y/0": ["data.bin", 0, 16]}),
    GOOD,
)


def _lists(folder: Path, address: str) -> None:
    found = zaro.list(str(folder / "refs.json"))
    assert found["/x"] == "array" if "/x" in found else found["x"] == "array"


case(
    "with keys that climb, listed",
    document({**REFS, "../y/.zarray": array(), "y/../.zgroup": "{}"}),
    GOOD,
    read=_lists,
)
case(
    "with an array that is not there",
    document(),
    error("NodeNotFoundError", "y", "refs.json"),
    read=reads("refs.json", "y"),
)
case("whose array's path climbs", document(), error("NodeNotFoundError"), read=reads("refs.json", "../x"))

# ---- metadata in a document --------------------------------------------------------------------

case(
    "with metadata that is no JSON", document({**REFS, "x/.zarray": "{"}), error("MetadataError", "x/.zarray")
)
case(
    "with metadata that is a list", document({**REFS, "x/.zarray": "[]"}), error("MetadataError", "x/.zarray")
)
case(
    "with metadata that is a reference to no file",
    document({**REFS, "x/.zarray": ["none.json"]}),
    error("ZaroError", "none.json"),
)
case(
    "with metadata that is a short file",
    document({**REFS, "x/.zarray": ["data.bin", 0, 500]}),
    error("ZaroError", "data.bin"),
)
case(
    "with metadata that is a file of data",
    document({**REFS, "x/.zarray": ["data.bin"]}),
    error("MetadataError", "x/.zarray"),
)
case(
    "with an array of 2^62 chunks",
    document({**REFS, "x/.zarray": array(shape=[2**60], chunks=[1])}),
    error(CHUNK, "x/0", "data.bin"),
    read=lambda folder, address: zaro.open(str(folder / "refs.json"), "x")[0:2],
)
case(
    "with a grid that overflows",
    document({**REFS, "x/.zarray": array(shape=[2**40, 2**40], chunks=[1, 1])}),
    error("MetadataError", "x/.zarray", "shape"),
)
case(
    "with metadata that is no UTF-8",
    document({**REFS, "x/.zarray": "base64:" + base64.b64encode(b'{"a":"\xff"}').decode()}),
    error("MetadataError", "x/.zarray", "UTF-8"),
)
case(
    "with .zmetadata of nonsense",
    document({**REFS, ".zmetadata": "17"}),
    error("MetadataError", ".zmetadata"),
)

# ---- versions, templates and generators --------------------------------------------------------

for version in (2, -1, "1", 1.5, [1], {}, True):
    case(
        f"of version {version!r}",
        json.dumps({"version": version, "refs": REFS}),
        error(SET, "refs.json", "version") if version is not True else GOOD,
    )
case("with refs that are a list", b'{"version":1,"refs":[1]}', error(SET, "refs.json", "refs"))
case("with refs that are text", b'{"version":1,"refs":"x"}', error(SET, "refs.json", "refs"))


def template(name: str, url: str, templates: Any, promise: Promise, **more: Any) -> None:
    case(f"with a template {name}", document(refs(x__0=[url, 0, 16]), templates=templates), promise, **more)


TEMPLATE = "TemplateError"
doubling = {f"t{k}": f"{{{{t{k + 1}}}}}{{{{t{k + 1}}}}}" for k in range(40)} | {"t40": "x" * 100}
template("that needs itself", "{{a}}", {"a": "{{a}}"}, error(TEMPLATE, "refs.json", "a"))
template(
    "that needs itself in a ring",
    "{{a}}",
    {"a": "{{b}}", "b": "{{c}}", "c": "{{a}}"},
    error(TEMPLATE, "refs.json"),
)
template("that doubles forty times", "{{t0}}", doubling, error(TEMPLATE, "refs.json"))
template(
    "that doubles a long text", "{{t25}}", {**doubling, "t40": "x" * 10**6}, error(TEMPLATE, "refs.json")
)
template(
    "that doubles a long text as often as is allowed",
    "{{t30}}",
    {**doubling, "t40": "x" * 10**6},
    error("ZaroError", "refs.json"),
)
template("of half a character", "{{a}}", {"a": "d\ud800.bin"}, error("StoreError", "half of a character"))
template("that is not there", "{{nobody}}", {"a": "data.bin"}, error(TEMPLATE, "refs.json", "nobody"))
template("that is a number", "{{a}}", {"a": 7}, error(TEMPLATE, "refs.json", "a"))
template(
    "that asks for an attribute", "{{a.__class__}}", {"a": "x"}, error(TEMPLATE, "refs.json", "__class__")
)
template("that calls", "{{a.format('x')}}", {"a": "x"}, error(TEMPLATE, "refs.json"))
template(
    "that runs a statement",
    "{% for i in range(9**9) %}x{% endfor %}{{a}}",
    {"a": "x"},
    error(CHUNK, "x/0", "{% for"),
)
template("that asks for the environment", "{{ environ['HOME'] }}", {"a": "x"}, error(TEMPLATE, "environ"))
template("that multiplies text", "{{ 'x' * 1000000000 }}", {"a": "x"}, error(TEMPLATE, "refs.json"))
template("that formats to a width", "{{ '%099999999d' % 1 }}", {"a": "x"}, error(TEMPLATE, "refs.json"))
template("that raises to a power", "{{ 9 ** 9 ** 9 ** 9 }}", {"a": "x"}, error(TEMPLATE, "refs.json"))
template("that divides by zero", "{{ 1 // 0 }}", {"a": "x"}, error(TEMPLATE, "refs.json"))
template(
    "that nests parentheses",
    "{{" + "(" * 10000 + "1" + ")" * 10000 + "}}",
    {"a": "x"},
    error(TEMPLATE, "refs.json"),
)
template("that is not closed", "{{ a", {"a": "x"}, error("ZaroError", "refs.json"))
template("of ten thousand braces", "{{a}}" * 10**4, {"a": "x"}, error("ZaroError", "x/0"))
template("of a million spaces", "{{" + " " * 10**6 + "a}}", {"a": "data.bin"}, GOOD)
template("of a million spaces and no end", "{{" + " " * 10**6, {"a": "data.bin"}, error("ZaroError"))


def generator(name: str, promise: Promise, *, gone: bool = True, **changes: Any) -> None:
    good = {
        "key": "x/{{i}}",
        "url": "data.bin",
        "offset": "{{i * 16}}",
        "length": "16",
        "dimensions": {"i": {"stop": 2}},
    }
    members = {key: value for key, value in {**good, **changes}.items() if value is not ...}
    kept = refs(x__0=None, x__1=None) if gone else REFS
    case(f"with a generator {name}", document(kept, gen=[members]), promise)


generator("of 2^62 references", error(SET, "refs.json", "gen[0]"), dimensions={"i": {"stop": 2**61}})
generator(
    "of ten dimensions of a thousand",
    error(SET, "refs.json", "gen[0]"),
    dimensions={"i": {"stop": 2}, **{f"d{k}": {"stop": 1000} for k in range(10)}},
)
generator(
    "of a hundred dimensions",
    error(SET, "refs.json", "gen[0]"),
    dimensions={f"d{k}": {"stop": 1} for k in range(100)},
)
generator("that steps by zero", error(SET, "refs.json", "gen[0]"), dimensions={"i": {"stop": 2, "step": 0}})
generator("that stops at text", error(SET, "refs.json", "gen[0]"), dimensions={"i": {"stop": "two"}})
generator("without a key", error(SET, "refs.json", "gen[0]"), key=...)
generator("without a length", error(SET, "refs.json", "gen[0]"), length=...)
generator("whose offset is negative", error("ZaroError", "refs.json", "gen[0]"), offset="{{ i - 1 }}")
generator(
    "whose offset overflows",
    error("ZaroError", "refs.json"),
    offset="{{ i * 9223372036854775807 * 9223372036854775807 }}",
)
generator(
    "whose key is no chunk, a million times",
    error("ZaroError", "refs.json", "gen[0]"),
    key="y{{i}}/{{j}}",
    dimensions={"i": {"stop": 3000}, "j": {"stop": 3000}},
)
generator("beyond the grid", error("ZaroError", "refs.json", "gen[0]"), dimensions={"i": {"stop": 200}})


def custom(name: str, promise: Promise, **changes: Any) -> None:
    good = {
        "files": [[2, "data.bin"]],
        "variables": ["x"],
        "varwise": True,
        "dims": [2],
        "dimensions": {"i": {"stop": "2"}},
        "start": "0",
        "lengths": [16],
    }
    members = {key: value for key, value in {**good, **changes}.items() if value is not ...}
    case(f"with a compact generator {name}", document(refs(x__0=None, x__1=None), gen=members), promise)


GENERATOR = "GeneratorError"
custom("as it should be", GOOD)
custom("of 2^60 chunks", error(GENERATOR, "refs.json", "dims"), dims=[2**60], dimensions=...)
custom("whose start is negative", error(GENERATOR, "refs.json"), start="-5")
custom("whose start is 2^64", error(GENERATOR, "refs.json", "start"), start=str(2**64))
custom("whose start is text", error(GENERATOR, "refs.json", "start"), start="zero")
custom("whose length is negative", error(GENERATOR, "refs.json", "lengths"), lengths=[-16])
custom("whose lengths overflow", error("ZaroError", "refs.json"), lengths=[2**63 - 1])
custom("of too many lengths", error(GENERATOR, "refs.json", "lengths"), lengths=[16, 16, 16])
custom("whose variable is not there", error(GENERATOR, "refs.json", "y"), variables=["y"])
custom("of no variables", error("ZaroError", "refs.json"), variables=[])
custom(
    "whose variable is there twice",
    error("ZaroError", "refs.json", "x"),
    variables=["x", "x"],
    dimensions=...,
)
custom("whose files do not ascend", error(GENERATOR, "refs.json", "files"), files=[[2, "a"], [1, "data.bin"]])
custom("whose files end early", error(GENERATOR, "refs.json", "files"), files=[[0, "data.bin"]])
custom("without files", error(GENERATOR, "refs.json", "files"), files=...)
custom("whose stop is another", error(GENERATOR, "refs.json", "stop"), dimensions={"i": {"stop": "3"}})
custom(
    "with an id that is there twice",
    error(GENERATOR, "refs.json", "unique"),
    unique={"ids": [1, 1], "lengths": [16, 16]},
)
custom(
    "with an id beyond the chunks",
    error(GENERATOR, "refs.json", "unique"),
    unique={"ids": [2], "lengths": [16]},
)
custom(
    "with lists of unequal length",
    error(GENERATOR, "refs.json", "unique"),
    unique={"ids": [0, 1], "lengths": [16]},
)
custom(
    "with a gap that steps back too far",
    error(GENERATOR, "refs.json", "gaps"),
    gaps={"ids": [1], "lengths": [-100]},
)
custom("with a gap of 2^63", error("ZaroError", "refs.json", "gaps"), gaps={"ids": [1], "lengths": [2**63]})
custom(
    "with skipped chunks of nonsense", error(GENERATOR, "refs.json", "skipchunks"), skipchunks={"5.5": [1]}
)
custom(
    "with packed ids that lie about their number",
    error("ZaroError", "refs.json", "unique"),
    unique={
        "ids": {"codec": "delta-zstd", "dtype": "<i8", "n": 2**40, "data": "base64:KLUv/QBYAAA="},
        "lengths": [1],
    },
)
custom(
    "with packed ids that are a bomb",
    error("ZaroError", "refs.json", "unique"),
    unique={
        "ids": {
            "codec": "delta-zstd",
            "dtype": "<i8",
            "n": 2**30,
            "data": "base64:" + base64.b64encode(__import__("zstandard").compress(bytes(1 << 26))).decode(),
        },
        "lengths": [1],
    },
)
custom(
    "with packed ids of an odd type",
    error("ZaroError", "refs.json", "unique"),
    unique={"ids": {"codec": "delta-zstd", "dtype": "|O", "n": 1, "data": "base64:AAAA"}, "lengths": [1]},
)

# ---- compressed documents ----------------------------------------------------------------------

case(
    "in gzip that breaks off",
    lambda: gzip.compress(document().encode())[:-12],
    error("ZaroError", "refs.json.gz"),
    ending=".json.gz",
)
case(
    "in gzip whose checksum is wrong",
    lambda: gzip.compress(document().encode())[:-8] + bytes(8),
    error("ZaroError", "refs.json.gz"),
    ending=".json.gz",
)
case(
    "in gzip of very much of spaces",
    lambda: bomb(192, b" "),
    error("ZaroError", "refs.json.gz"),
    ending=".json.gz",
    seconds=20,
)
case(
    "in gzip of very much of one text",
    lambda: bomb(192, b"a", b'{"version":1,"refs":{"x/0":"'),
    error("ZaroError", "refs.json.gz"),
    ending=".json.gz",
    seconds=20,
)
case(
    "in gzip of very much of braces",
    lambda: bomb(192, b"["),
    error("ZaroError", "refs.json.gz"),
    ending=".json.gz",
)
case(
    "in zstd of very much of one text",
    lambda: _zstd_bomb(),  # noqa: PLW0108 - it stands below
    error("ZaroError", "refs.json.zst"),
    ending=".json.zst",
    seconds=20,
)


def _zstd_bomb() -> bytes:
    import zstandard

    packer = zstandard.ZstdCompressor(level=3).compressobj()
    parts = [packer.compress(b'{"version":1,"refs":{"x/0":"')] + [
        packer.compress(b"a" * (1 << 20)) for _ in range(192)
    ]
    return b"".join([*parts, packer.flush()])


case(
    "with a few bytes wrong",
    document(templates={"u": "x"}, gen=[]),
    GOOD,
    read=reads_damaged("refs.json", "refs.json"),
)
