"""The options that every way in takes, checked once at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to reach a target and the files behind it.

    Attributes
    ----------
    storage_options : dict
        fsspec's options for the target itself.
    remote_protocol : str or None
        Protocol of references that spell none.
    remote_options : dict
        fsspec's options for the files that references point at: one dict, or a dict from URL
        prefix to dict, of which the longest prefix that fits counts.
    allow_targets : tuple of str, or None
        URL prefixes that references may reach. None: any, but a set that came from a remote
        address reaches no local file.
    missing : {"fill", "warn", "raise"}
        What to do with a chunk that is absent. One that is listed and cannot be read is always an error.
    timeout : float
        Seconds that one request may take, with all its attempts.
    consolidated : bool
        Whether to use the metadata that a store's root holds of all its nodes, where it does. False
        reads the documents of the nodes themselves, which may be newer.
    """

    storage_options: Mapping[str, Any] | None = None
    remote_protocol: str | None = None
    remote_options: Mapping[str, Any] | None = None
    allow_targets: tuple[str, ...] | None = None
    missing: Literal["fill", "warn", "raise"] = "fill"
    timeout: float = 60.0
    consolidated: bool = True

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Check what a caller gave.

        Raises
        ------
        TypeError, ValueError
            For a name or value that is none of ours; the message lists what is.
        """
        names = [f.name for f in fields(cls)]
        for name in given:
            if name not in names:
                raise TypeError(f"unknown option {name!r}; there are {', '.join(names)}")
        if given.get("missing", "fill") not in ("fill", "warn", "raise"):
            raise ValueError(f"missing={given['missing']!r}; it is 'fill', 'warn' or 'raise'")
        if isinstance(given.get("allow_targets"), str):
            given["allow_targets"] = (given["allow_targets"],)
        if given.get("allow_targets") is not None:
            given["allow_targets"] = tuple(given["allow_targets"])
        if not float(given.get("timeout", 60.0)) > 0:
            raise ValueError(f"timeout={given['timeout']!r}; it is a number of seconds above 0")
        return cls(**given)

    def for_url(self, url: str) -> dict[str, Any]:
        """The fsspec options for one file: `remote_options`, or those of its longest prefix."""
        options = self.remote_options or {}
        by_prefix = [key for key, value in options.items() if isinstance(value, Mapping) and "://" in key]
        if not by_prefix:
            return dict(options)
        fitting = [key for key in by_prefix if url.startswith(key)]
        return dict(options[max(fitting, key=len)]) if fitting else {}
