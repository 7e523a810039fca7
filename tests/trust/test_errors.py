"""Every raise: of zaro's own tree, or on a list that says why not. Every error: comes back from a pickle."""

import ast
import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest

from zaro import errors
from zaro.fsspec import ReferenceNotReachable

SOURCE = Path(errors.__file__).parent
CLASSES = {
    name: one
    for name, one in vars(errors).items()
    if inspect.isclass(one) and issubclass(one, errors.ZaroError)
}
FILES = sorted(SOURCE.rglob("*.py"))
KERNELS = sorted((Path(__file__).parents[2] / "src" / "zaro" / "_core").glob("*.pyx"))

INNER = {
    "Outside": "an expression outside the grammar; `Templates` turns it into a TemplateError",
    "Unfit": "a node that a convention cannot use; the next is tried, then an XGroupReferenceError tells all",
    "ValuesError": "explicit values of a convention; becomes an XGroupError that names the place",
    "PointerError": "a JSON pointer; becomes an XGroupPathError",
    "Passing": "a failure that another attempt may better; `attempts` turns the last one into a StoreError",
    "BrokenMessageError": "of a GRIB message; becomes a ScanError that names the file",
    "_NoStream": "what follows a stream; `StreamStep` turns it into a CorruptChunkError",
    "_Short": "a NetCDF file that ends early; becomes a ScanError",
    "UsageError": "the command's own, told in one line with the exit code of wrong usage",
    "ArgumentTypeError": "argparse's, for one argument of the command",
}
"""Exceptions that never leave the room, and what becomes of them."""

AT_THE_DOORS = {
    "__init__.py": {"AttributeError": "a name that a module lacks, as Python has it"},
    "_core/__init__.py": {"ImportError": "says how to build what is missing"},
    "codecs/chain.py": {"ValueError": "a call that no caller makes: shards are decoded chunk by chunk"},
    "codecs/native.py": {"AssertionError": "a step that is always the kernel's"},
    "codecs/numbers.py": {"AssertionError": "a step that never runs"},
    "codecs/values.py": {
        "ValueError": "becomes a CorruptChunkError in the step, a MetadataError in `_scalar`"
    },
    "callers.py": {"KeyError": "a mapping, as Mapping asks for"},
    "config.py": {"ValueError": "a caller's argument"},
    "ending.py": {"RuntimeError": "the interpreter ends, as Python has it"},
    "conventions/assemble.py": {"TypeError": "a handler that breaks its protocol"},
    "conventions/lazy.py": {"NotImplementedError": "an abstract method"},
    "conventions/nodes.py": {"KeyError": "a mapping, as Mapping asks for"},
    "conventions/registry.py": {"TypeError": "a caller's argument", "ValueError": "a caller's argument"},
    "detect.py": {"TypeError": "a caller's argument"},
    "fsspec/documents.py": {"ValueError": "as fsspec has it"},
    "fsspec/filesystem.py": dict.fromkeys(
        ("FileExistsError", "FileNotFoundError", "NotImplementedError", "TypeError", "ValueError"),
        "as fsspec has it",
    ),
    "fsspec/keys.py": {"FileNotFoundError": "as fsspec has it", "ZeroDivisionError": "as fsspec has it"},
    "fsspec/lazy.py": {"KeyError": "as fsspec has it"},
    "fsspec/targets.py": {"ValueError": "as fsspec has it"},
    "hierarchy/nodes.py": {
        "TypeError": "len() of a scalar, as NumPy has it",
        "ValueError": "NumPy's protocol of __array__",
    },
    "metadata/grid.py": {"IndexError": "a chunk that is none, as of any sequence"},
    "options.py": {"TypeError": "a caller's argument", "ValueError": "a caller's argument"},
    "references/expression.py": {"AssertionError": "a node that the parser never makes"},
    "references/files.py": {"NotImplementedError": "an abstract method"},
    "references/json.py": {
        "TypeError": "becomes a ReferenceSetError in the next function",
        "ValueError": "likewise",
    },
    "references/pages.py": {"ValueError": "becomes a ReferenceSetError in `read_rows`"},
    "references/parquet_table.py": {"IndexError": "an id that is none, as of any sequence"},
    "references/parquet_writer.py": {"ValueError": "a caller's argument"},
    "references/set.py": {
        "TypeError": "a caller's argument",
        "ValueError": "a caller's argument",
        "IndexError": "ids that are none",
    },
    "references/sources.py": {"OSError": "becomes a StoreError in `open_document`"},
    "scan/codecs.py": {"NotImplementedError": "numcodecs' protocol", "ValueError": "numcodecs' protocol"},
    "scan/combine.py": {"ValueError": "a caller's argument"},
    "scan/hdf5_codec.py": {"ValueError": "numcodecs' protocol"},
    "scan/hdf5_chunks.py": {"OSError": "becomes a ScanError in the caller"},
    "scan/hdf5_filters.py": {"ValueError": "becomes the filter's reason"},
    "scan/append.py": {"ValueError": "a caller's argument"},
    "scan/gribfile.py": {"ValueError": "becomes a ScanError in the scan, a CorruptChunkError in a read"},
    "scan/members.py": {"ValueError": "becomes a ScanError in the caller"},
    "stores/filesystems.py": {"FileNotFoundError": "absent: the caller knows whether that is an error"},
    "stores/http.py": {"FileNotFoundError": "absent: the caller knows whether that is an error"},
    "stores/loop.py": {
        "RuntimeError": "a blocking read inside of zaro's own event loop; the interpreter ends"
    },
    "xarray.py": {"ValueError": "a caller's argument, as xarray has it"},
    "zarr/ranges.py": {"ValueError": "as zarr-python has it"},
    "zarr/store.py": {"ValueError": "as zarr-python has it", "FileNotFoundError": "as zarr-python has it"},
}
"""Builtin exceptions by module, and why they are none of zaro's tree."""

RAISED_BY_WRAPPERS = {
    "BufferError",
    "FileNotFoundError",
    "IndexError",
    "KeyError",
    "MemoryError",
    "NotImplementedError",
    "TypeError",
    "ValueError",
}
"""A wrapper of a kernel raises these for shapes that Python hands it, and errors of the tree for values."""


def makers():
    """Functions that make an error for their caller to raise, as their annotations tell."""
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                name = ast.unparse(node.returns).strip("'\"").rpartition(".")[2]
                if name in CLASSES or name == "Exception":
                    found.add(node.name)
    return found


MAKERS = makers()


def raised(path):
    """Line and name of every class that a module raises; an exception that is at hand is raised again."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Raise) or node.exc is None:
            continue
        called = isinstance(node.exc, ast.Call)
        name = ast.unparse(node.exc.func if called else node.exc).rpartition(".")[2]
        if name.lstrip("_")[0].isupper() or called:
            yield node.lineno, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_raise_is_of_the_tree_or_says_why_not(path):
    allowed = AT_THE_DOORS.get(str(path.relative_to(SOURCE)), {})
    of_tree = {*CLASSES, "ReferenceNotReachable", *MAKERS, "kind", "next"}  # `kind` is one of two of the tree
    for line, name in raised(path):
        assert name in of_tree or name in INNER or name in allowed, f"{path.name}:{line} raises {name}"


def test_nothing_is_allowed_that_is_not_raised():
    found = {str(path.relative_to(SOURCE)): {name for _, name in raised(path)} for path in FILES}
    for module, names in AT_THE_DOORS.items():
        assert set(names) <= found[module], module
    assert set(INNER) <= set().union(*found.values())


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_wrappers_of_kernels_raise_what_is_agreed(path):
    found = set(re.findall(r"^\s*raise (\w+)", path.read_text(), re.MULTILINE))
    assert found <= RAISED_BY_WRAPPERS | set(CLASSES) | {"err", "fault_error", "refuse"}, found


LONG = "a" * 10**6
OF_THE_CALLER = {"PlotError", "SelectionError", "ZaroError"}
MADE = {
    "ChangedError": lambda text: errors.ChangedError(text, "etag", text, text),
    "ChunkError": lambda text: errors.ChunkError(text, node=text, key="0.1", file=text, offset=3, length=4),
    "MissingChunkError": lambda text: errors.MissingChunkError(text, node=text, key="0.1"),
    "CorruptChunkError": lambda text: errors.CorruptChunkError(text, node=text, key="0.1", file=text),
    "GeneratorError": lambda text: errors.GeneratorError(text, text, 7, text),
    "NodeNotFoundError": lambda text: errors.NodeNotFoundError(text, text, (text,)),
    "StoreError": lambda text: errors.StoreError(text, text, 3),
    "StoreForbiddenError": lambda text: errors.StoreForbiddenError(text, text, 3),
    "StoreNotFoundError": lambda text: errors.StoreNotFoundError(text, text),
    "SelectionError": errors.SelectionError,
    "ZaroError": errors.ZaroError,
}


def make(name, text):
    return MADE[name](text) if name in MADE else CLASSES[name](text, text, text)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("text", ["plain", "a\nb\0c\ud800", ""])
def test_every_error_comes_back_from_a_pickle_and_from_a_copy(name, text):
    error = make(name, text)
    if hasattr(error, "target"):
        error.target = "somewhere"
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
        assert again.args == error.args


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in OF_THE_CALLER])
def test_no_name_makes_a_message_without_end(name):
    assert len(str(make(name, LONG))) < 20_000


def test_the_door_s_own_error_comes_back_too():
    error = ReferenceNotReachable("x/0", "http://h/a", "why")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


def test_the_tree_is_the_one_that_its_page_draws():
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or "")) | {"ZaroError"}
    assert drawn == set(CLASSES)
