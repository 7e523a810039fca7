"""Each compiled module has a stub, and the two agree on every name and every parameter."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "zaro" / "_core"
KERNELS = sorted(path.stem for path in CORE.glob("*.pyx"))
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def stub_parameters(node: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """(name, kind, has a default) of each parameter of a stub."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    bare = len(plain) - len(a.defaults)
    rows = [
        (p.arg, "positional" if i < len(a.posonlyargs) else "either", i >= bare) for i, p in enumerate(plain)
    ]
    rows += [(a.vararg.arg, "*", False)] if a.vararg else []
    rows += [(p.arg, "keyword", d is not None) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return rows + ([(a.kwarg.arg, "**", False)] if a.kwarg else [])


def real_parameters(function) -> list[tuple[str, str, bool]]:
    """The same of a compiled function."""
    return [
        (p.name, KINDS[p.kind], p.default is not p.empty)
        for p in inspect.signature(function).parameters.values()
    ]


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def members(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names that the body of a stub declares."""
    rows: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            rows[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            rows[node.target.id] = node
    return rows


def constructor(kernel: str, name: str) -> list[str]:
    """Parameter names of a class's `__cinit__` or `__init__`, which only the source tells."""
    text = (CORE / f"{kernel}.pyx").read_text()
    body = re.split(
        r"^(?:cdef )?class \w+.*:$", text[re.search(rf"class {name}\b.*:", text).start() :], flags=re.M
    )
    found = re.search(r"def __c?init__\((.*?)\):\s*$", body[1], re.DOTALL | re.MULTILINE)
    if not found:
        return ["self"]
    parameters = re.sub(r"\[[^\]]*\]|\s+not None|\s+or None", "", found[1])
    names = [re.split(r"[=:]", part)[0].split() for part in parameters.split(",")]
    return [words[-1].lstrip("*&") for words in names if words and words[-1] not in {"*", "/"}]


def check_class(kernel: str, stub: ast.ClassDef, real: type) -> None:
    declared = members(stub.body)
    shown = public(name for name in vars(real))
    assert public(declared) == shown, f"{kernel}.{stub.name}"
    for name, node in declared.items():
        where = f"{kernel}.{stub.name}.{name}"
        if name == "__init__":
            written = constructor(kernel, stub.name)
            assert written == [row[0] for row in stub_parameters(node)], where
        elif isinstance(node, ast.FunctionDef):
            if any(ast.unparse(mark) == "property" for mark in node.decorator_list):
                assert not callable(vars(real)[name]), where
            elif not name.startswith("__"):
                assert stub_parameters(node) == real_parameters(getattr(real, name)), where


def test_every_kernel_has_a_stub_and_every_stub_a_kernel():
    modules = {path.stem for path in CORE.glob("*.py")}
    assert sorted({path.stem for path in CORE.glob("*.pyi")} - modules) == KERNELS


def test_every_kernel_is_built():
    listed = re.search(r"foreach\(name IN ITEMS\s+([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
    assert sorted(re.sub(r"#.*", "", listed[1]).split()) == KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_stub_and_module_agree(kernel):
    module = importlib.import_module(f"zaro._core.{kernel}")
    declared = members(ast.parse((CORE / f"{kernel}.pyi").read_text()).body)
    own = {
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    }
    assert public(own) <= public(declared), f"{kernel}.pyi lacks a name"
    for name, node in declared.items():
        if name.startswith("_"):  # types that only the stub needs
            continue
        assert hasattr(module, name), f"{kernel}.pyi declares {name}, which the module lacks"
        real = getattr(module, name)
        if isinstance(node, ast.FunctionDef):
            assert stub_parameters(node) == real_parameters(real), f"{kernel}.{name}"
        elif isinstance(node, ast.ClassDef):
            check_class(kernel, node, real)
