"""What `import` costs: each in a fresh interpreter."""

from __future__ import annotations

from .data import need


class Import:
    """Zaro and what it is compared with."""

    params = ("zaro", "zarr", "fsspec.implementations.reference", "tensorstore")
    param_names = ("module",)

    def setup(self, module):
        need(module)

    def timeraw_import(self, module):
        return f"import {module}"
