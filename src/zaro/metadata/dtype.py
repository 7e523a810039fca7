"""Data types: NumPy's type strings of v2, the names of v3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from zaro.metadata.documents import Document

__all__ = ["TEXT", "dtype_v2", "dtype_v3"]

DType = np.dtype[Any]

TEXT: DType = np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else np.dtype(object)
"""Variable-length text: NumPy's own type where there is one, as zarr-python gives it, else objects."""

_OBJECT = np.dtype(object)
_LARGEST = 2**31 - 1  # bytes of one element; what NumPy can hold
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as")

_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_V2: dict[str, DType] = {order + name: np.dtype(order + name) for name in _NUMBERS for order in "<>"}
_V2 |= {f"|{name}": np.dtype(name) for name in ("b1", "i1", "u1")}

_TIME = re.compile(r"([<>])([mM])8(?:\[(\d{0,10})(" + "|".join(_UNITS) + r"|generic)\])?")
_SIZED = re.compile(r"([<>|])([SUV])(\d{1,10})")

_V3: dict[str, DType] = {
    **{f"{kind}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "bool": np.dtype(bool),
    "complex64": np.dtype("complex64"),
    "complex128": np.dtype("complex128"),
    "complex_float32": np.dtype("complex64"),
    "complex_float64": np.dtype("complex128"),
    "string": TEXT,
    "bytes": _OBJECT,
    "variable_length_bytes": _OBJECT,
}
_BITS = re.compile(r"r([1-9]\d{0,10})")


def dtype_v2(document: Document, member: str, value: object) -> DType:
    """Read a type string as `<f4`, or the list of fields of a structured type. Byte order is kept.

    `|O` gives objects; which objects, the codecs say.
    """
    if isinstance(value, str):
        found = _V2.get(value) or _typestr(document, member, value)
        if found is None:
            raise document.unsupported(
                member, value, "expected a NumPy type string that zarr stores, as <f4 or |S8"
            )
        return found
    if not isinstance(value, list | tuple):
        raise document.bad(member, value, "a NumPy type string as <f4, or a list of fields")
    return _structured(
        document, member, [_field_v2(document, f"{member}[{k}]", f) for k, f in enumerate(value)]
    )


def _typestr(document: Document, member: str, value: str) -> DType | None:
    if value == "|O":
        return _OBJECT
    if match := _TIME.fullmatch(value):
        order, kind, scale, unit = match.groups()
        return _time(document, member, value, order + kind, unit or "generic", int(scale or 1))
    if match := _SIZED.fullmatch(value):
        order, kind, length = match.groups()
        return _sized(document, member, value, order + kind, int(length))
    if value in ("b1", "i1", "u1"):
        return np.dtype(value)
    if value[1:] in _NUMBERS or value in _NUMBERS:
        raise document.bad(member, value, "a byte order, < or >, before a type of several bytes")
    return None


def _sized(document: Document, member: str, value: object, kind: str, length: int) -> DType:
    """Make `length` bytes (S, V) or code points (U)."""
    nbytes = length * (4 if kind[-1] == "U" else 1)
    if not 1 <= nbytes <= _LARGEST:
        raise document.bad(member, value, f"elements of 1 to {_LARGEST} bytes")
    return np.dtype(f"{kind}{length}")


def _time(document: Document, member: str, value: object, kind: str, unit: str, scale: int) -> DType:
    if unit == "generic":
        return np.dtype(f"{kind}8")
    if not 1 <= scale <= _LARGEST:
        raise document.bad(member, value, f"a time unit counted from 1 to {_LARGEST}")
    return np.dtype(f"{kind}8[{scale}{unit}]")


def _field_v2(document: Document, member: str, field: object) -> tuple[str, DType, tuple[int, ...]]:
    if not isinstance(field, list | tuple) or len(field) not in (2, 3) or not isinstance(field[0], str):
        raise document.bad(member, field, "a list of a field's name, its type, and a shape if it has one")
    dtype = dtype_v2(document, f"{member}[1]", field[1])
    shape = field[2] if len(field) == 3 else ()
    shape = (shape,) if type(shape) is int else shape
    if not isinstance(shape, list | tuple) or len(shape) > 32:
        raise document.bad(f"{member}[2]", shape, "a list of at most 32 integers")
    for size in shape:
        if type(size) is not int or not 1 <= size <= _LARGEST:
            raise document.bad(f"{member}[2]", size, f"integers from 1 to {_LARGEST}")
    return field[0], dtype, tuple(shape)


def _structured(document: Document, member: str, fields: list[tuple[str, DType, tuple[int, ...]]]) -> DType:
    if not fields:
        raise document.bad(member, fields, "at least one field")
    nbytes = 0
    for k, (name, dtype, shape) in enumerate(fields):
        if dtype.hasobject:
            raise document.unsupported(f"{member}[{k}]", name, "expected a field of fixed size, not objects")
        count = 1
        for size in shape:
            count *= size
        nbytes += dtype.itemsize * count
    if nbytes > _LARGEST:
        raise document.bad(member, fields, f"elements of 1 to {_LARGEST} bytes")
    try:
        return np.dtype([(name, dtype, shape) if shape else (name, dtype) for name, dtype, shape in fields])
    except (ValueError, TypeError) as err:  # names that occur twice
        raise document.bad(member, fields, f"fields that make a type: {err}") from None


def dtype_v3(document: Document, member: str, value: object) -> DType:
    """Read a data type by its v3 name, or its name and configuration. Byte order is the machine's."""
    if isinstance(value, str):
        name, configuration = value, None
    elif isinstance(value, Mapping) and isinstance(value.get("name"), str):
        name, configuration = value["name"], value.get("configuration")
    else:
        raise document.bad(member, value, "the name of a data type, or an object with name and configuration")
    if make := _CONFIGURED.get(name):
        if not isinstance(configuration, Mapping):
            raise document.bad(f"{member}.configuration", configuration, f"an object that configures {name}")
        return make(document, f"{member}.configuration", configuration)
    if configuration:
        raise document.unsupported(f"{member}.configuration", configuration, f"expected none for {name!r}")
    if found := _V3.get(name):
        return found
    if match := _BITS.fullmatch(name):
        return _raw(document, member, name, int(match[1]))
    raise document.unsupported(member, name, "a data type that zaro does not have")


def _raw(document: Document, member: str, value: str, bits: int) -> DType:
    if bits % 8:
        raise document.bad(member, value, "a number of bits that is a multiple of 8")
    return _sized(document, member, value, "V", bits // 8)


def _length(document: Document, member: str, configuration: Mapping[str, Any]) -> int:
    value = configuration.get("length_bytes")
    if type(value) is not int or not 1 <= value <= _LARGEST:
        raise document.bad(f"{member}.length_bytes", value, f"an integer from 1 to {_LARGEST}")
    return value


def _utf32(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    nbytes = _length(document, member, configuration)
    if nbytes % 4:
        raise document.bad(f"{member}.length_bytes", nbytes, "a multiple of 4")
    return np.dtype(f"U{nbytes // 4}")


def _bytes(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    return np.dtype(f"S{_length(document, member, configuration)}")


def _raw_bytes(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    return np.dtype(f"V{_length(document, member, configuration)}")


def _time_v3(document: Document, member: str, configuration: Mapping[str, Any], kind: str) -> DType:
    unit, scale = configuration.get("unit"), configuration.get("scale_factor", 1)
    if unit != "generic" and unit not in _UNITS:
        raise document.bad(f"{member}.unit", unit, f"one of {', '.join(_UNITS)}, generic")
    if type(scale) is not int or not 1 <= scale <= _LARGEST:
        raise document.bad(f"{member}.scale_factor", scale, f"an integer from 1 to {_LARGEST}")
    return _time(document, member, scale, kind, unit, scale)


def _datetime(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    return _time_v3(document, member, configuration, "M")


def _timedelta(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    return _time_v3(document, member, configuration, "m")


def _struct(document: Document, member: str, configuration: Mapping[str, Any]) -> DType:
    fields = configuration.get("fields")
    member = f"{member}.fields"
    if not isinstance(fields, list | tuple):
        raise document.bad(member, fields, "a list of fields")
    return _structured(
        document, member, [_field_v3(document, f"{member}[{k}]", f) for k, f in enumerate(fields)]
    )


def _field_v3(document: Document, member: str, field: object) -> tuple[str, DType, tuple[int, ...]]:
    if isinstance(field, Mapping):
        name, kind, place = field.get("name"), field.get("data_type"), f"{member}.data_type"
    elif (
        isinstance(field, list | tuple) and len(field) == 2
    ):  # as zarr-python before the extension was registered
        (name, kind), place = field, f"{member}[1]"
    else:
        raise document.bad(member, field, "an object with name and data_type")
    if not isinstance(name, str) or not name:
        raise document.bad(f"{member}.name", name, "the name of a field")
    return name, dtype_v3(document, place, kind), ()


_CONFIGURED = {
    "fixed_length_utf32": _utf32,
    "null_terminated_bytes": _bytes,
    "raw_bytes": _raw_bytes,
    "numpy.datetime64": _datetime,
    "numpy.timedelta64": _timedelta,
    "struct": _struct,
    "structured": _struct,
}
