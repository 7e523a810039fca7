"""How the files that references point at are reached: options that travel with a set to whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Missing", "Options"]

Missing = Literal["fill", "warn", "raise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Keyword options of `zaro.open` and its kin.

    Attributes
    ----------
    storage_options : mapping, optional
        fsspec's options for the target itself.
    remote_protocol : str, optional
        Protocol of references that name none.
    remote_options : mapping, optional
        fsspec's options for the files that references point at: one dict, or a dict of URL prefix
        to dict, of which the longest prefix wins.
    allow_targets : sequence of str, optional
        URL prefixes that references may reach; None for all but local files of a set from afar.
    missing : {"fill", "warn", "raise"}
        What an absent chunk is.
    timeout : float, optional
        Seconds per request.
    """

    storage_options: Mapping[str, Any] | None = None
    remote_protocol: str | None = None
    remote_options: Mapping[str, Any] | None = None
    allow_targets: Sequence[str] | None = None
    missing: Missing = "fill"
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("fill", "warn", "raise"):
            raise ValueError(f"missing is {self.missing!r}, expected 'fill', 'warn' or 'raise'")
