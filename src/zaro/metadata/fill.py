"""Fill values: from JSON to the scalar that an absent chunk holds, bit for bit."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from zaro.metadata.documents import Document

__all__ = ["Objects", "fill_value"]

DType = np.dtype[Any]
ByteOrder = Literal["<", ">", "="]
Objects = Literal["text", "bytes", "any"]
"""What an array of objects holds: `any` is any JSON value."""

_FLOATS = {
    **{name: float(name) for name in ("NaN", "Infinity", "-Infinity")},
    **{name: float(name) for name in ("nan", "inf", "-inf")},  # as Python spells them; zarr-python takes both
}
_FLOAT_TEXT = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,6})?")
_INT_TEXT = re.compile(r"[+-]?\d{1,20}")
_RANGES = {
    np.dtype(f"{kind}{size}"): (int(np.iinfo(f"{kind}{size}").min), int(np.iinfo(f"{kind}{size}").max))
    for kind in "iu"
    for size in (1, 2, 4, 8)
}


def fill_value(
    document: Document, value: object, dtype: DType, *, objects: Objects = "any", order: ByteOrder = "="
) -> Any:
    """Read the member `fill_value`.

    Parameters
    ----------
    value
        The JSON value; not null.
    dtype
        Of the array, in either byte order; the scalar that comes back is in the machine's.
    objects
        What an object type holds: `text`, `bytes`, or `any` JSON value.
    order
        Byte order of the packed bytes of a structured value.
    """
    return _read(document, "fill_value", value, dtype, objects, order)


def _read(
    document: Document, member: str, value: object, dtype: DType, objects: Objects, order: ByteOrder
) -> Any:
    if dtype.kind in "OT":
        return _object(document, member, value, objects)
    if dtype.names is not None:
        return _structure(document, member, value, dtype, order)
    return _READERS[dtype.kind](document, member, value, dtype)


def _bool(document: Document, member: str, value: object, dtype: DType) -> Any:
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return np.bool_(value)
    raise document.bad(member, value, "true or false")


def _int(document: Document, member: str, value: Any, dtype: DType) -> Any:
    dtype = dtype.newbyteorder("=")
    low, high = _RANGES[dtype]
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    spelled = isinstance(value, str) and _INT_TEXT.fullmatch(value)
    number = int(value) if whole or spelled else value
    if type(number) is not int or not low <= number <= high:
        raise document.bad(member, value, f"an integer from {low} to {high} for {dtype.name}")
    return dtype.type(number)


def _float(document: Document, member: str, value: object, dtype: DType) -> Any:
    scalar = dtype.type
    if type(value) is float and -60000 < value < 60000:  # every float type holds it: the common way
        return scalar(value)
    if isinstance(value, str) and value[:2] == "0x":
        return _hex(document, member, value, dtype)
    if isinstance(value, str) and (value in _FLOATS or _FLOAT_TEXT.fullmatch(value)):
        value = _FLOATS.get(value) or float(value)
    if not isinstance(value, int | float):
        raise document.bad(member, value, f'a number, "NaN", "Infinity" or "-Infinity" for {dtype.name}')
    try:
        with np.errstate(over="ignore"):
            return scalar(value)
    except OverflowError:
        raise document.bad(member, value, f"a number that {dtype.name} can hold") from None


def _hex(document: Document, member: str, value: str, dtype: DType) -> Any:
    digits = value[2:]
    if len(digits) != 2 * dtype.itemsize or not re.fullmatch("[0-9a-fA-F]+", digits):
        raise document.bad(member, value, f"0x and {2 * dtype.itemsize} hexadecimal digits for {dtype.name}")
    # bytes, never by way of a Python float, which would quieten a signalling NaN
    return np.frombuffer(bytes.fromhex(digits), dtype.newbyteorder(">")).astype(dtype.newbyteorder("="))[0]


def _complex(document: Document, member: str, value: object, dtype: DType) -> Any:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    if type(value) in (int, float):
        value = [value, 0.0]
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise document.bad(member, value, f"a pair of real and imaginary part for {dtype.name}")
    pair = np.empty(2, part)
    for k in (0, 1):
        pair[k] = _float(document, f"{member}[{k}]", value[k], part)
    return pair.view(dtype.newbyteorder("="))[0]


def _time(document: Document, member: str, value: object, dtype: DType) -> Any:
    if value == "NaT":
        value = -(2**63)
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise document.bad(member, value, f'a 64-bit integer or "NaT" for {dtype.name}')
    return np.array(value, "i8").view(dtype.newbyteorder("="))[()]


def _text(document: Document, member: str, value: object, dtype: DType) -> Any:
    length = dtype.itemsize // 4
    if type(value) is int and value == 0:  # zarr-python 2 wrote its default for every type
        return np.str_("")
    if not isinstance(value, str) or len(value) > length:
        raise document.bad(member, value, f"text of at most {length} characters")
    return np.str_(value)


def _bytes(document: Document, member: str, value: object, dtype: DType) -> Any:
    if type(value) is int and value == 0:
        return np.bytes_(b"")
    raw = _packed(document, member, value)
    if len(raw) > dtype.itemsize:
        raise document.bad(member, value, f"at most {dtype.itemsize} bytes in base64, got {len(raw)}")
    return np.bytes_(raw)


def _raw(document: Document, member: str, value: object, dtype: DType) -> Any:
    return np.void(_exactly(document, member, value, dtype.itemsize))


def _packed(document: Document, member: str, value: object) -> bytes:
    """Read bytes, spelled as base64 or as a list of integers."""
    if isinstance(value, list | tuple) and all(type(byte) is int and 0 <= byte <= 255 for byte in value):
        return bytes(value)
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise document.bad(member, value, "bytes in base64, or a list of integers from 0 to 255")


def _exactly(document: Document, member: str, value: object, nbytes: int) -> bytes:
    if type(value) is int and value == 0 and nbytes <= 65536:
        return bytes(nbytes)
    raw = _packed(document, member, value)
    if len(raw) != nbytes:
        raise document.bad(member, value, f"{nbytes} bytes, got {len(raw)}")
    return raw


def _structure(document: Document, member: str, value: object, dtype: DType, order: ByteOrder) -> Any:
    native = dtype.newbyteorder("=") if order != "=" else dtype
    if not isinstance(value, Mapping):
        stored = native.newbyteorder(order) if order != "=" else dtype
        raw = _exactly(document, member, value, dtype.itemsize)
        return np.frombuffer(raw, stored).astype(native)[0]
    item = np.zeros((), native)
    for name in native.names or ():
        if name not in value:
            raise document.missing(f"{member}.{name}", "a value for every field")
        item[name] = _read(document, f"{member}.{name}", value[name], native[name], "any", order)
    return item[()]


def _object(document: Document, member: str, value: object, objects: Objects) -> Any:
    if objects == "text":
        if isinstance(value, str) or type(value) in (int, float):  # zarr-python 2 wrote 0, and 3 reads "0"
            return str(value)
        raise document.bad(member, value, "text")
    return _packed(document, member, value) if objects == "bytes" else value


_READERS: dict[str, Callable[[Document, str, object, DType], Any]] = {
    "b": _bool,
    "i": _int,
    "u": _int,
    "f": _float,
    "c": _complex,
    "m": _time,
    "M": _time,
    "U": _text,
    "S": _bytes,
    "V": _raw,
}
