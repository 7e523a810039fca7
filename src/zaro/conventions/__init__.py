"""GeoZarr conventions: which coordinates belong to an array, wherever in the hierarchy they lie.

`base` is what every handler is, `registry` which there are, `assemble` what they make of a group.
Principal conventions are `cs` and `spatial`, service conventions `ref`, `proj`, `uom` and
`geolocation`; others register with the entry point `zaro.conventions`.
"""

from zaro.conventions.base import ConventionHandler, declares

__all__ = ["ConventionHandler", "declares"]
