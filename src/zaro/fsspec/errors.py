"""The one error that fsspec's reference file system has of its own."""

from __future__ import annotations

from typing import Any

from fsspec.implementations import reference  # type: ignore[import-untyped]

from zaro.errors import ZaroError

__all__ = ["ReferenceNotReachable"]


class ReferenceNotReachable(ZaroError, reference.ReferenceNotReachable):  # type: ignore[misc]
    """The set has a key, but what it refers to cannot be read; also fsspec's class of that name.

    Attributes
    ----------
    reference : str
        The key.
    target : str or list
        Where its bytes should lie.
    """

    def __init__(self, reference: str, target: Any, *args: Any) -> None:
        super().__init__(reference, target, *args)

    def __str__(self) -> str:
        return f'Reference "{self.reference}" failed to fetch target {self.target}'
