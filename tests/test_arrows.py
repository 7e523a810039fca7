"""Imports point down: no room of zaro knows of one above it, or of another on its own level.

Inside a room they point one way too: no two modules need each other, at once or when a function is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "zaro"

LEVELS = (  # from the top; `zaro` is the package's own face, with the public names
    ("cli",),
    ("demo",),
    ("zaro",),
    ("plot", "xgroup"),
    ("fsspec", "report", "versions", "xarray", "zarr"),
    ("conventions", "scan"),
    ("hierarchy",),
    ("detect", "read"),
    ("plan",),
    ("references",),
    ("codecs", "metadata", "stores"),
    ("_core",),
    ("collector", "config", "callers", "ending", "openings", "options", "warned"),
    ("errors",),
    ("shown",),
)
HEIGHT = {room: -level for level, rooms in enumerate(LEVELS) for room in rooms}
FILES = sorted(path for end in ("py", "pyi", "pyx", "pxd") for path in SOURCE.rglob(f"*.{end}"))


def room_of(path: Path) -> str:
    """The room in which a file lies: the first name below the package."""
    first = path.relative_to(SOURCE).parts[0].split(".")[0]
    return "zaro" if first == "__init__" else first


def is_room(name: str) -> bool:
    return (SOURCE / name).is_dir() or any((SOURCE / f"{name}.{end}").exists() for end in ("py", "pyi"))


def target(module: str, names: tuple[str, ...]) -> Iterator[str]:
    """Rooms that `from module import names` reaches."""
    parts = module.split(".")
    if parts[0] != "zaro":
        return
    if len(parts) > 1:
        yield parts[1]
        return
    if not names:
        yield "zaro"
    for name in names:
        yield name if is_room(name) else "zaro"


def python_imports(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from target(alias.name, ())
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports of zaro's own modules are written in full"
            yield from target(node.module or "", tuple(alias.name for alias in node.names))


def cython_imports(text: str) -> Iterator[str]:
    for module, names in re.findall(r"^\s*from\s+([\w.]+)\s+c?import\s+(.+)$", text, re.MULTILINE):
        yield from target(module, tuple(re.findall(r"\w+", names)))
    for module in re.findall(r"^\s*c?import\s+([\w.]+)", text, re.MULTILINE):
        yield from target(module, ())


def imports(path: Path) -> Iterator[str]:
    text = path.read_text()
    return python_imports(text) if path.suffix in {".py", ".pyi"} else cython_imports(text)


def wrong_arrows(path: Path) -> list[str]:
    """Each import that does not point down, as a sentence with both names."""
    here = room_of(path)
    name = path.relative_to(SOURCE)
    return [
        f"{name} ({here}) imports zaro.{there}, which {reason}"
        for there in imports(path)
        for reason in ["does not lie below it" if there in HEIGHT else "has no level in LEVELS"]
        if there != here and not HEIGHT.get(there, 1) < HEIGHT[here]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    assert room_of(path) in HEIGHT, f"{room_of(path)} has no level yet: say in LEVELS what it may import"
    assert wrong_arrows(path) == []


MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
    if path.suffix == ".py" and path.parent != SOURCE
}


def for_types_only(tree: ast.Module) -> set[ast.AST]:
    """Imports that only a type checker sees."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    return {node for block in blocks for node in ast.walk(block)}


def modules_needed(text: str) -> Iterator[str]:
    """Modules in rooms of zaro that a module imports, anywhere in it."""
    tree = ast.parse(text)
    unseen = for_types_only(tree)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node not in unseen:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("zaro.") in MODULES else str(node.module) for name in inner]
        yield from (name.removeprefix("zaro.") for name in names if name.startswith("zaro."))


def circle(needs: dict[str, set[str]]) -> list[str]:
    """Modules of which each needs the next, and the last the first; empty where there are none."""
    left = {name: needed & needs.keys() - {name} for name, needed in needs.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    way: list[str] = []
    here = next(iter(left), None)
    while here is not None and here not in way:
        way.append(here)
        here = min(left[here] & left.keys())
    return way[way.index(here) :] if here is not None else []


def test_no_two_modules_of_a_room_need_each_other():
    needs = {name: set(modules_needed(path.read_text())) for name, path in MODULES.items()}
    assert len(needs) > 100
    assert circle(needs) == []


def test_a_circle_is_seen():
    needs = {"a.x": {"a.y"}, "a.y": {"a.z", "b"}, "a.z": {"a.x"}, "b": set()}
    assert circle(needs) == ["a.x", "a.y", "a.z"]
    assert list(modules_needed("def f():\n    from zaro.plot import show")) == ["plot.show"]


@pytest.mark.parametrize(
    ("here", "text", "there"),
    [
        ("codecs", "from zaro.stores import base", "stores"),  # sideways
        ("_core", "def f():\n    import zaro.read", "read"),  # up, and hidden in a function
        ("hierarchy", "from zaro import report", "report"),
        ("metadata", "import zaro", "zaro"),
    ],
)
def test_a_wrong_arrow_is_seen(here, text, there, monkeypatch):
    monkeypatch.setattr(f"{__name__}.is_room", HEIGHT.__contains__)
    assert [room for room in python_imports(text) if HEIGHT[room] >= HEIGHT[here]] == [there]


def test_a_wrong_arrow_in_cython_is_seen():
    text = "from libc.stdint cimport int64_t\nfrom zaro.plan cimport chunk\nimport zaro.read\n"
    assert list(cython_imports(text)) == ["plan", "read"]
