"""From an address to a data set: what a user waits for before the first value."""

from __future__ import annotations

from .data import Documents, need


class OpenDataset(Documents):
    """A document through xarray."""

    params = (["zaro", "kerchunk"], Documents.references)
    param_names = ("engine", "references")

    def setup(self, folder, engine, references):
        self.xarray = need("xarray")
        need("zaro.xarray" if engine == "zaro" else "kerchunk.xarray_backend", "dask")
        self.document = str(folder / f"{references}.json")

    def open(self, engine):
        return self.xarray.open_dataset(self.document, engine=engine, chunks={}, decode_times=False)

    def time_open(self, folder, engine, references):
        self.open(engine)

    def peakmem_open(self, folder, engine, references):
        self.dataset = self.open(engine)


class OpenArray(Documents):
    """One array of a document, without xarray."""

    params = (["zaro", "zarr-python"], Documents.references)
    param_names = ("engine", "references")

    def setup(self, folder, engine, references):
        self.document = str(folder / f"{references}.json")
        if engine == "zaro":
            zaro = need("zaro")
            self.open = lambda: zaro.open(self.document)["var0"]
        else:
            zarr, fsspec = need("zarr", "fsspec")
            need("fsspec.implementations.reference")

            def through_fsspec():
                files = fsspec.filesystem(
                    "reference", fo=self.document, asynchronous=True, skip_instance_cache=True
                )
                return zarr.open_group(zarr.storage.FsspecStore(files), mode="r", zarr_format=2)["var0"]

            self.open = through_fsspec

    def time_open(self, folder, engine, references):
        self.open()
