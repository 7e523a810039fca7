"""From documents to the typed model: groups of many arrays."""

from __future__ import annotations

import warnings
from pathlib import Path

from .data import axis, need

ARRAYS = axis(10, 1000)


class OpenGroup:
    """A group, and the shape of each of its arrays. Without consolidation each array is a file of its own."""

    params = (["zaro", "zarr-python"], ARRAYS, [2, 3], [True, False])
    param_names = ("engine", "arrays", "zarr_format", "consolidated")
    timeout = 300

    def setup_cache(self):
        try:
            zarr = need("zarr")
        except NotImplementedError:  # nothing to write with: setup skips what is not there
            return Path.cwd()
        for arrays in ARRAYS:
            for zarr_format in (2, 3):
                for consolidated in (True, False):
                    store = f"{arrays}-{zarr_format}-{consolidated}.zarr"
                    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
                    for number in range(arrays):
                        group.create_array(f"a{number}", shape=(100, 100), chunks=(10, 10), dtype="f4")
                    if consolidated:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            zarr.consolidate_metadata(store, zarr_format=zarr_format)
        return Path.cwd()

    setup_cache.timeout = 600

    def setup(self, folder, engine, arrays, zarr_format, consolidated):
        self.store = str(folder / f"{arrays}-{zarr_format}-{consolidated}.zarr")
        if not Path(self.store).exists():
            raise NotImplementedError(f"{self.store} was not written")
        self.open = {"zaro": self.with_zaro, "zarr-python": self.with_zarr}[engine]

    def with_zaro(self):
        group = need("zaro").open(self.store)
        return [group[name].shape for name in group]

    def with_zarr(self):
        return [array.shape for _, array in need("zarr").open_group(self.store, mode="r").arrays()]

    def time_shapes(self, folder, engine, arrays, zarr_format, consolidated):
        self.open()
