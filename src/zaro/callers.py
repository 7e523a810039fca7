"""What other libraries call a store, as a target and options of zaro's. Imports none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

__all__ = ["engine_options", "translated"]

_REFERENCE = "reference://"
# what changes the meaning of a reference set, and is fsspec's alone
_CHANGED = {"fs", "ref_storage_args", "target", "template_overrides"}
# what fsspec's reference file system takes beside the options that are ours, and that changes nothing here
_IGNORED = {
    "asynchronous",
    "cache_size",
    "lazy",
    "max_block",
    "max_gap",
    "simple_templates",
    "listings_expiry_time",
    "skip_instance_cache",
    "use_listings_cache",
}


class _Buffers(Mapping[str, bytes]):
    """The objects of a store of zarr-python that lies in memory."""

    def __init__(self, buffers: Mapping[str, Any]) -> None:
        self._buffers = buffers

    def __getitem__(self, key: str) -> bytes:
        found: bytes = self._buffers[key].to_bytes()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


class _Keys(Mapping[str, bytes]):
    """The objects of any store of zarr-python, asked for one by one in zarr-python's own loop."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getitem__(self, key: str) -> bytes:
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        found = sync(self._store.get(key, default_buffer_prototype()))
        if found is None:
            raise KeyError(key)
        return bytes(found.to_bytes())

    def __iter__(self) -> Iterator[str]:
        from zarr.core.sync import sync

        async def listed() -> list[str]:
            return [key async for key in self._store.list()]

        return iter(sync(listed()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def translated(
    target: Any, storage_options: Mapping[str, Any] | None, given: Mapping[str, Any]
) -> tuple[Any, str, dict[str, Any]]:
    """What a target is to zaro, as callers of other libraries name it: target, path in it, options.

    Takes any store of zarr-python, `fsspec.get_mapper(...)`, and `reference://` with `fo` among the storage
    options, as code for kerchunk has them; everything else is returned as it came. An option that is
    None counts as not given.
    """
    options = engine_options(storage_options, given)
    kind = type(target).__module__.partition(".")[0], type(target).__name__
    if kind == ("zaro", "ZaroStore"):
        own = {name: getattr(target.options, name) for name in type(target.options).__dataclass_fields__}
        return target.target, "", {**own, **options}
    if kind == ("zarr", "MemoryStore"):
        return _Buffers(target._store_dict), "", options
    if kind == ("zarr", "LocalStore"):
        return str(target.root), "", options
    if kind == ("zarr", "ZipStore"):
        return str(target.path), "", options
    if kind == ("zarr", "StorePath"):
        store, above, options = translated(target.store, storage_options, given)
        return store, f"{above}/{target.path}".strip("/"), options
    if kind == ("zarr", "FsspecStore"):
        return _of_filesystem(target.fs, target.path, options) or (_Keys(target), "", options)
    if any((each.__module__, each.__name__) == ("zarr.abc.store", "Store") for each in type(target).__mro__):
        return _Keys(target), "", options
    if kind == ("fsspec", "FSMap"):
        return _of_filesystem(target.fs, target.root, options) or (target, "", options)
    own = options.get("storage_options") or {}
    if isinstance(target, str) and target.startswith(_REFERENCE) and "fo" in own:
        return _of_references(target, own, options)
    return target, "", options


def _of_filesystem(fs: Any, path: str, options: dict[str, Any]) -> tuple[Any, str, dict[str, Any]] | None:
    """A place in a file system; of references the set itself, which is faster than asking for its keys.

    None where only the file system knows its keys: it lies over another one, or in memory.
    """
    fs = getattr(fs, "sync_fs", fs)  # behind fsspec's AsyncFileSystemWrapper
    protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    _, *names = signature(type(fs).__init__).parameters  # that of the class is one for all
    given = dict(zip(names, fs.storage_args, strict=False)) | fs.storage_options
    own = {name: value for name, value in given.items() if value is not None}
    if len(fs.storage_args) > len(names):
        return None
    if protocol == "reference":
        return None if own.keys() & _CHANGED else _of_references(path, own, options)
    if getattr(fs, "fs", None) is not None or "fo" in own or protocol == "memory":
        return None
    return fs.unstrip_protocol(path), "", {**engine_options(own, {}), **options}


def _of_references(
    path: str, own: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Any, str, dict[str, Any]]:
    rest = {name: value for name, value in options.items() if name != "storage_options"}
    fo = own["fo"]
    own = {name: value for name, value in own.items() if name != "fo"}
    return fo, path.removeprefix(_REFERENCE).strip("/"), {**engine_options(own, {}), **rest}


def engine_options(storage_options: Mapping[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `zaro.open` from an engine's: kerchunk nests those of the files in `storage_options`."""
    found = {name: value for name, value in given.items() if value is not None}
    own = dict(storage_options or {})
    for name in ("remote_protocol", "remote_options"):
        if name in own:
            found.setdefault(name, own.pop(name))
    if "target_options" in own or "target_protocol" in own:
        own.pop("target_protocol", None)
        nested = own.pop("target_options", None) or {}
        own |= nested
    own = {name: value for name, value in own.items() if name not in _IGNORED}
    return {**found, "storage_options": own} if own else found
