"""`zaro.scan`: from a file to its reference set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from zaro.detect import SNIFFED, FileFormat, sniff
from zaro.errors import ScanError, UnsupportedError, ZaroError
from zaro.options import Options
from zaro.references.contents import Contents
from zaro.references.files import is_local, local_path
from zaro.references.fingerprint import Fingerprints, fingerprint_of
from zaro.references.set import References
from zaro.scan.draft import SetBuilder
from zaro.scan.settings import Settings
from zaro.scan.source import Source, open_source
from zaro.scan.zarr import scan_zarr, scan_zip
from zaro.stores.targets import Targets

__all__ = ["scan"]

Format = FileFormat | Literal["zarr"]
_NEEDS = {"hdf5": "h5py", "tiff": "tifffile", "grib": "eccodes"}


def scan(
    url: str | os.PathLike[str],
    *,
    format: Format | None = None,  # noqa: A002 - the contract's name
    inline_threshold: int = 500,
    unsupported_inline_threshold: int = 1 << 20,
    skip: str | Sequence[str] = (),
    split: int | None = None,
    relative_to: str | os.PathLike[str] | None = None,
    rename: Mapping[str, str] | None = None,
    fingerprint: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    timeout: float = 60.0,
) -> References:
    """Make the reference set of an existing file; reads metadata only.

    Parameters
    ----------
    url : path or URL
        An HDF5, NetCDF, TIFF or GRIB file, a Zarr store, or a zip file of one.
    format : {"hdf5", "netcdf3", "tiff", "grib", "zarr", "zip"}, optional
        By default found from the bytes.
    inline_threshold : int
        Chunks of fewer bytes are held in the set itself.
    unsupported_inline_threshold : int
        What cannot be decoded where it lies (a filter without decoder, a chunk that is stored in another way
        than the others of its array) is held in the set, decoded, up to so many bytes.
    skip : str or sequence of str
        Variables and groups to leave out: paths or patterns, as `"time_bnds"` or `"grid/*"`.
    split : int, optional
        Cut uncompressed arrays along their leading dimensions into chunks of at most so many bytes.
    relative_to : path, optional
        Name local files relative to this folder, where the document will be; otherwise paths are absolute.
    rename : mapping, optional
        Beginnings of URLs, and what the set shall have instead.
    fingerprint : bool
        Write down the size of the file, and when it was changed or which tag the server gives it. Who opens
        the set is told if that is no longer so.
    storage_options : mapping, optional
        fsspec's options for the file.
    timeout : float
        Seconds for one request.

    Returns
    -------
    refs : References
        Every variable under its path in the file, with the file's own chunks and codecs.

    Raises
    ------
    ScanError
        The file is damaged, or a variable in it cannot be represented; says which and why.
    UnsupportedError
        A package is missing that reads the format; says which.
    StoreError
        There is no such file, or it cannot be reached.

    References
    ----------
    - The HDF Group, "HDF5 File Format Specification Version 3.0"; read through h5py.
    - Unidata, "NetCDF Classic Format Specification" (CDF-1, CDF-2, CDF-5).
    - Adobe, "TIFF Revision 6.0", and OGC 21-026, "Cloud Optimized GeoTIFF"; read through tifffile.
    - WMO No. 306, FM 92 GRIB; read through eccodes.
    - CF Conventions and the netCDF Users Guide, for dimensions and coordinates.

    See Also
    --------
    zaro.concat, zaro.merge : make one set of many.
    zaro.References.save : writes it.
    """
    settings = Settings(
        inline_threshold=inline_threshold,
        unsupported_inline_threshold=unsupported_inline_threshold,
        skip=(skip,) if isinstance(skip, str) else tuple(skip),
        split=split,
        relative_to=None if relative_to is None else os.fspath(relative_to),
        rename=dict(rename or {}),
    )
    options = Options.of(storage_options=storage_options, timeout=timeout)
    address = os.fspath(url)
    if format == "zarr" or (format is None and _is_store(address)):
        if fingerprint:
            raise UnsupportedError(address, "", "is a store of many files, of which none has a fingerprint")
        contents = scan_zarr(address, options, settings)
    else:
        opener = partial(open_source, storage_options=storage_options, timeout=timeout)
        with opener(address) as source:
            contents = _scan_file(format, source, settings, opener)
            if fingerprint:
                targets = Targets("", Options.of(remote_options=storage_options, timeout=timeout))
                files = {url: fingerprint_of(targets, url) for url in source.used or [source.url]}
                known = {settings.spell(url): one for url, one in files.items()}
                contents.fingerprints = Fingerprints.of(known)
    contents.origin = address
    return References(contents, options=Options.of(remote_options=storage_options, timeout=timeout))


def _is_store(address: str) -> bool:
    """Whether an address is that of a folder, as far as its name or the file system tells."""
    if is_local(address):
        return os.path.isdir(os.path.expanduser(local_path(address)))
    return address.rstrip("/").endswith(".zarr")


def _scan_file(found: str | None, source: Source, settings: Settings, opener: Any) -> Contents:
    found = found or sniff(source.head(SNIFFED))
    if found is None:
        start = source.head(8)
        begins = f"begins with {start!r}: no HDF5, NetCDF, TIFF, GRIB or zip file does"
        raise ScanError(source.url, "", begins if start else "is empty")
    if found == "zip":
        return scan_zip(source, settings)
    builder = SetBuilder(settings)
    _fill(found, source, builder, opener)
    source.used = list(builder.files)
    return builder.finish()


def _fill(found: str, source: Source, builder: SetBuilder, opener: Any) -> None:
    try:
        if found == "hdf5":
            from zaro.scan.hdf5 import scan_hdf5

            scan_hdf5(source, builder, open_other=opener)
        elif found == "netcdf3":
            from zaro.scan.netcdf3 import scan_netcdf3

            scan_netcdf3(source, builder)
        elif found == "tiff":
            from zaro.scan.tiff import scan_tiff

            scan_tiff(source, builder)
        elif found == "grib":
            from zaro.scan.grib import scan_grib

            scan_grib(source, builder)
        else:
            raise ScanError(
                source.url, "", f"format {found!r} is none of hdf5, netcdf3, tiff, grib, zarr, zip"
            )
    except (ZaroError, OSError):
        raise
    except ImportError as err:
        package = _NEEDS.get(found, err.name or "")
        raise UnsupportedError(source.url, "", f"needs {package}: pip install 'zaro[scan]' ({err})") from err
    except Exception as err:  # a library of others, of a file that is damaged, can say anything
        raise ScanError(source.url, "", f"cannot be read as {found}: {type(err).__name__}: {err}") from err
