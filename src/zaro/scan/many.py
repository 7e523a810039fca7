"""Many files at once: scanned by processes or a dask cluster, each once, whatever interrupts the work."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for
from threading import Thread
from typing import Any

from zaro.errors import CombineError, StoreNotFoundError, ZaroError
from zaro.references.files import FileTable, is_local, local_path
from zaro.references.partition import need_pyarrow
from zaro.references.set import References, format_of
from zaro.scan.append import append
from zaro.scan.combine import concat, merge
from zaro.scan.open import scan
from zaro.scan.settings import Settings, spell_files

__all__ = ["expand", "scan_many"]

GROUP = 256
"""Sets that are joined at a time."""
AHEAD = 8
"""Files for each process that wait or are under way."""


def expand(patterns: Sequence[str], storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Paths and URLs that patterns stand for, those of each pattern in order; a local file stands for itself.

    Raises
    ------
    StoreNotFoundError
        A pattern fits nothing.
    """
    found: list[str] = []
    for pattern in patterns:
        if not glob.has_magic(pattern) or (is_local(pattern) and os.path.lexists(local_path(pattern))):
            names = [pattern]
        elif is_local(pattern):
            names = sorted(glob.glob(local_path(pattern), recursive=True))
        else:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]

            fs, path = url_to_fs(pattern, **dict(storage_options or {}))
            names = [fs.unstrip_protocol(name) for name in sorted(fs.glob(path))]
        if not names:
            raise StoreNotFoundError(pattern, "no file fits this pattern")
        found += names
    return found


def scan_many(
    urls: Sequence[str],
    target: str,
    *,
    dims: Sequence[str] | None = None,
    coords: Mapping[str, Any] | None = None,
    sort: bool = False,
    behind: bool = False,
    jobs: int | None = None,
    dask: str | None = None,
    allow_failures: bool = False,
    done: Callable[[], None] = lambda: None,
    relative_to: str | os.PathLike[str] | None = None,
    **how: Any,
) -> dict[str, str]:
    """Scan files, join them, and write the set.

    Parameters
    ----------
    target : str
        Path of the set, as `References.save` takes it.
    dims : sequence of str, optional
        Dimensions to join along; without them the files are merged.
    coords, sort
        As `zaro.concat`.
    behind : bool
        Join them behind the set that is there, as `zaro.append`.
    jobs : int, optional
        Processes; one for each core by default.
    dask : str, optional
        Address of the scheduler of a dask cluster that scans instead.
    allow_failures : bool
        Write the set of what could be scanned.
    done : callable
        Called after each file.
    relative_to : path, optional
        Name local files relative to this folder.
    **how
        As `zaro.scan`.

    Returns
    -------
    dict of str to str
        Files that could not be scanned, and why. Unless that is allowed, nothing was written then.

    Notes
    -----
    The set of each file is kept beside the target until the joined one is written, so that after an
    interruption only what is missing, or has changed, is scanned again; the result is the same.
    """
    if format_of(target) == "parquet":
        need_pyarrow(target)  # now, and not when all is scanned
    folder = _parts_folder(target)
    os.makedirs(folder, exist_ok=True)
    parts = {url: os.path.join(folder, _part_name(url, how)) for url in urls}
    todo = {url: part for url, part in parts.items() if not os.path.exists(part)}
    for _ in range(len(parts) - len(todo)):
        done()
    run = _on_dask(todo, how, dask) if dask else _on_processes(todo, how, jobs or os.cpu_count() or 1)
    failures = {}
    for url, reason in run:
        if reason is not None:
            failures[url] = reason
        done()
    failures = {url: failures[url] for url in urls if url in failures}
    good = [url for url in urls if url not in failures]
    if good and (allow_failures or not failures):
        found = [parts[url] for url in good]
        if behind:
            sets = [_bare(part) for part in found]
            append(
                target, sets, *(dims or ()), coords=coords, sort=sort, labels=good, relative_to=relative_to
            )
        else:
            refs = _join(found, good, dims, coords, sort)
            _spell(refs, Settings(relative_to=None if relative_to is None else os.fspath(relative_to)))
            refs.save(target)
        shutil.rmtree(folder)
    return failures


def _join(
    parts: list[str],
    urls: list[str],
    dims: Sequence[str] | None,
    coords: Mapping[str, Any] | None,
    sort: bool,
) -> References:
    if dims and len(dims) == 1 and not sort and len(parts) > GROUP:
        try:
            return _join_in_groups(parts, urls, dims[0], coords or {})
        except CombineError:
            pass  # all at once then: perhaps they fit, and else the error tells which file does not
    sets = [_bare(part) for part in parts]
    if dims:
        return concat(sets, dims, coords=coords, sort=sort, labels=urls)
    return sets[0] if len(sets) == 1 else merge(sets, labels=urls)


def _join_in_groups(parts: list[str], urls: list[str], dim: str, coords: Mapping[str, Any]) -> References:
    """Join groups of sets, then the groups: what is in memory is columns, and the sets of one group."""
    groups = []
    for start in range(0, len(parts), GROUP):
        some = slice(start, start + GROUP)
        sets = [_bare(part) for part in parts[some]]
        groups.append(concat(sets, dim, coords=coords, labels=urls[some]))
    decode = {dim: "time"} if coords.get(dim) == "time" else None
    return concat(groups, dim, coords=decode, labels=urls[::GROUP])


def _spell(refs: References, settings: Settings) -> None:
    """Name the files as the settings ask; only now, since values of coordinates were read until here."""
    seen: set[int] = set()
    for table in refs.contents.tables.values():
        files = getattr(table, "files", None)
        if isinstance(files, FileTable) and id(files) not in seen:
            seen.add(id(files))
            spell_files(files, settings)
    if refs.contents.fingerprints is not None:
        spell_files(refs.contents.fingerprints.files, settings)


def _bare(part: str) -> References:
    """A part, its files as they are written in it."""
    with open(part, "rb") as file:
        return References.open(file.read())


def _parts_folder(target: str) -> str:
    """Folder of the parts, hidden beside the target."""
    path = os.path.abspath(local_path(target) if is_local(target) else os.path.basename(target))
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.parts")


def _part_name(url: str, how: Mapping[str, Any]) -> str:
    """Name of the part of a file: another where the file has changed or is scanned in another way."""
    facts: list[Any] = [url, sorted(how.items())]
    if is_local(url) and os.path.exists(local_path(url)):
        status = os.stat(local_path(url))
        facts += [os.path.abspath(local_path(url)), status.st_size, status.st_mtime_ns]
    return f"{hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:32]}.json"


# ---- the work ----------------------------------------------------------------------------------


def _scan_to(url: str, part: str, how: Mapping[str, Any]) -> str | None:
    """Scan one file to its part; returns why that failed."""
    try:
        refs = scan(url, **how)
    except (ZaroError, OSError, ImportError, MemoryError) as err:
        return str(err) or type(err).__name__
    aside = f"{part[:-5]}.{os.getpid()}.json"
    refs.save(aside, format="json")
    os.replace(aside, part)
    return None


def _on_processes(
    todo: Mapping[str, str], how: Mapping[str, Any], jobs: int
) -> Iterator[tuple[str, str | None]]:
    if min(jobs, len(todo)) < 2:
        yield from ((url, _scan_to(url, part, how)) for url, part in todo.items())
        return
    waiting = iter(todo.items())
    # new processes, not forks: a fork takes along locks that other threads hold, of HDF5 for one
    context = get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(todo)), mp_context=context, initializer=_end_with_parent) as pool:
        under_way: dict[Future[str | None], str] = {}
        while True:
            for url, part in islice(waiting, AHEAD * jobs - len(under_way)):
                under_way[pool.submit(_scan_to, url, part, how)] = url
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), _outcome(future)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it did: nobody would give it work."""
    parent = parent_process()
    if parent is not None:
        ended = parent.sentinel
        Thread(target=lambda: (wait_for([ended]), os._exit(1)), daemon=True).start()


def _outcome(future: Future[str | None]) -> str | None:
    try:
        return future.result()
    except Exception as err:  # whatever ended the process
        return f"{type(err).__name__}: {err}"


def _scan_afar(url: str, how: Mapping[str, Any]) -> tuple[str, bytes | None, str | None]:
    """Scan one file on a worker that shares no folder with us."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, "part.json")
        reason = _scan_to(url, part, how)
        if reason is not None:
            return url, None, reason
        with open(part, "rb") as file:
            return url, file.read(), None


def _on_dask(
    todo: Mapping[str, str], how: Mapping[str, Any], address: str
) -> Iterator[tuple[str, str | None]]:
    from distributed import Client, as_completed

    with Client(address) as client:  # type: ignore[no-untyped-call]
        futures = client.map(_scan_afar, list(todo), how=dict(how), pure=False)
        for future in as_completed(futures):  # type: ignore[no-untyped-call]
            url, data, reason = future.result()
            if data is not None:
                aside = f"{todo[url]}.{os.getpid()}"
                with open(aside, "wb") as file:
                    file.write(data)
                os.replace(aside, todo[url])
            future.release()
            yield url, reason
