"""Docstrings of public names say what goes in, what comes out, what may fail, where the rules come from."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import zaro
import zaro.conventions
import zaro.fsspec
import zaro.xarray
import zaro.xgroup
import zaro.zarr

MODULES = (zaro, zaro.conventions, zaro.errors, zaro.fsspec, zaro.zarr)
ENGINES = (zaro.xarray.ZaroBackendEntrypoint, zaro.xgroup.XGroupBackendEntrypoint)
SETTINGS = (zaro.config.threads, zaro.config.set_threads, zaro.config.threads_set_to)

MADE_BY_ZARO = {zaro.Array, zaro.Group, zaro.References, zaro.zarr.CodecPipeline}
"""Classes whose constructors are for zaro or another library to call."""
CANNOT_FAIL = {
    "ConventionHandler",
    "ConventionHandler.detect",
    "ConventionHandler.inputs",
    "MetadataError.of",
    "XGroupBackendEntrypoint.guess_can_open",
    "ZaroBackendEntrypoint.guess_can_open",
    "declares",
    "install",
    "show_versions",
    "threads",
}
TAKES_THE_METHODS_OF = {zaro.Array, zaro.Group, zaro.References, *ENGINES}
"""Classes whose methods raise each for itself, so that the class needs no list."""


def public() -> Iterator[tuple[str, Any]]:
    """Functions, classes and the classes' own methods, by name."""
    found = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    for name, one in (found | {one.__name__: one for one in (*ENGINES, *SETTINGS)}).items():
        if inspect.ismodule(one):
            continue
        yield name, one
        if inspect.isclass(one):
            for member, value in vars(one).items():
                plain = getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(plain) and not is_others(one, member):
                    yield f"{name}.{member}", plain


def is_others(owner: type, name: str) -> bool:
    """Whether a method is another library's, which describes it; an engine's arguments are its own."""
    if owner in ENGINES:
        return False
    if (
        owner is zaro.zarr.ZaroStore and name == "set_partial_values"
    ):  # a method of older versions of zarr-python
        return True
    return any(name in vars(base) and not base.__module__.startswith("zaro") for base in owner.__mro__[1:])


PUBLIC = dict(public())
FUNCTIONS = [name for name, one in PUBLIC.items() if not inspect.isclass(one)]
CLASSES = [name for name, one in PUBLIC.items() if inspect.isclass(one)]
PLAIN = [name for name in CLASSES if not issubclass(PUBLIC[name], BaseException)]
ERRORS = [name for name in CLASSES if issubclass(PUBLIC[name], BaseException)]


def described(name: str, title: str) -> set[str]:
    """Entries of a section of a docstring, stars apart: `a, b : int` are two."""
    return entries(inspect.getdoc(PUBLIC[name]) or "", title)


def entries(text: str, title: str) -> set[str]:
    lines = text.partition(f"\n{title}\n{'-' * len(title)}\n")[2].split("\n")
    ends = [k for k, line in enumerate(lines) if set(line) == {"-"}]
    heads = [line for line in lines[: ends[0] - 1 if ends else None] if line[:1].strip()]
    return {part.strip().lstrip("*") for head in heads for part in head.partition(" : ")[0].split(",")}


def parameters(one: Any) -> list[str]:
    function = one.__init__ if inspect.isclass(one) else one
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [] if function is object.__init__ else names


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLAIN])
def test_every_parameter_is_described(name):
    if PUBLIC[name] not in MADE_BY_ZARO:
        assert not set(parameters(PUBLIC[name])) - described(name, "Parameters")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_comes_back_is_described(name):
    comes_back = inspect.signature(PUBLIC[name]).return_annotation not in (None, "None")
    assert bool(described(name, "Returns") or described(name, "Yields")) == comes_back


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLAIN])
def test_what_is_raised_is_described(name):
    raised = described(name, "Raises")
    if name in CANNOT_FAIL or PUBLIC[name] in TAKES_THE_METHODS_OF:
        assert not raised, "what fails is no longer in the list"
        return
    known = {*zaro.errors.__all__, "KeyError", "IndexError", "ReferenceNotReachable"}
    known |= {"FileNotFoundError", "OSError", "TypeError", "ValueError"}
    assert raised
    assert raised <= known


@pytest.mark.parametrize(
    "name", [*PLAIN, *(name for name in FUNCTIONS if "." not in name and PUBLIC[name] not in SETTINGS)]
)
def test_the_source_or_what_is_akin_is_named(name):
    assert described(name, "References") or described(name, "See Also")


@pytest.mark.parametrize("name", ERRORS)
def test_every_fact_of_an_error_is_described(name):
    kind = PUBLIC[name]
    texts = [inspect.cleandoc(base.__doc__ or "") for base in kind.__mro__]
    facts = {fact for text in texts for fact in entries(text, "Attributes")}
    given = [part for part in parameters(kind) if part not in ("args", "kwargs", "text")]
    assert set(given) <= facts


@pytest.mark.parametrize("name", PUBLIC)
def test_the_first_line_is_a_sentence(name):
    first = (inspect.getdoc(PUBLIC[name]) or "").split("\n\n")[0]
    assert re.match(r"\S", first)
    assert first.endswith((".", "`", ":"))
