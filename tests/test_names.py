"""What zaro shows is what `__all__` says."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import zaro

SOURCE = Path(__file__).parents[1] / "src" / "zaro"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "_core" not in path.parts)

PUBLIC = {  # the contract: a name joins with what it names, and leaves never
    "Array",
    "Group",
    "References",
    "ZaroError",
    "append",
    "concat",
    "config",
    "errors",
    "list",
    "merge",
    "meta",
    "open",
    "read",
    "scan",
    "show_versions",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE).with_suffix(""))


def listed(tree: ast.Module) -> list[str] | None:
    """`__all__`, or None where a module has none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    return None


def bound(node: ast.stmt, face: bool) -> Iterator[str]:
    """Names that a statement at the top of a module binds; imports count in the face of a package only."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for part in node.targets:
            yield from (name.id for name in ast.walk(part) if isinstance(name, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.ImportFrom) and face and (node.module or "").split(".")[0] == "zaro":
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.If | ast.Try):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from bound(child, face)


def taken(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of all that a module imports from other rooms of zaro."""
    here = name_of(path).split("/")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zaro."):
            module = (node.module or "").removeprefix("zaro.")
            if module.split(".")[0] != here:
                yield from ((module, alias.name) for alias in node.names)


TAKEN = {pair for path in MODULES for pair in taken(path)}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_lists_what_it_shows(path):
    tree = ast.parse(path.read_text())
    names = listed(tree)
    shown = {name for node in tree.body for name in bound(node, path.name == "__init__.py")}
    public = {name for name in shown if not name.startswith("_")}
    if names is None:
        assert not public, "a module with public names has an __all__"
        return
    assert len(names) == len(set(names))
    if path.parent == SOURCE:  # what users may import
        assert set(names) == public
    else:  # a room's own matter, as long as the other rooms keep to what it lists
        module = name_of(path).removesuffix("/__init__").replace("/", ".")
        wanted = {name for where, name in TAKEN if where == module} & public
        assert wanted <= set(names) <= public


def test_the_package_shows_the_contract():
    assert set(zaro.__all__) == PUBLIC
    for name in zaro.__all__:
        assert getattr(zaro, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'zaro' has no attribute 'opne'"):
        getattr(zaro, "opne")  # noqa: B009 - to a type checker it is an error already


def test_every_error_is_a_zaro_error():
    errors = importlib.import_module("zaro.errors")
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(kind, zaro.ZaroError | Warning) for kind in kinds)


def test_import_is_light():
    """The heavy libraries are imported where they are used."""
    code = "import sys, zaro; print(*sys.modules)"
    loaded = set(subprocess_output(code).split())
    heavy = {"blosc2", "dask", "fsspec", "h5py", "netCDF4", "pandas", "pyarrow", "xarray", "zarr"}
    assert not heavy & loaded


def subprocess_output(code: str) -> str:
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
