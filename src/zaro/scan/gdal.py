"""What GDAL notes of the bands of a TIFF file.

Source: GDAL, "GTiff -- GeoTIFF File Format", internal metadata domain (tag 42112).
"""

from __future__ import annotations

import html
import re
from typing import Any

__all__ = ["band_attributes"]

_ITEM = re.compile(r"<Item ([^<>]*)>([^<>]*)</Item>")
_MEMBER = re.compile(r'(\w+)="([^"]*)"')
_DECODED = {"scale": ("scale_factor", "scales", 1.0), "offset": ("add_offset", "offsets", 0.0)}
_TOLD = {"unittype": ("units", "band_units"), "description": ("long_name", "band_names")}


def band_attributes(page: Any) -> dict[str, Any]:
    """Scale, offset, unit and name of the bands: a list under another name where bands differ.

    xarray decodes a scale and an offset that all bands share, and takes no notice of lists.
    """
    items = _items(str(page.tags.valueof("GDAL_METADATA") or ""), int(page.samplesperpixel))
    found: dict[str, Any] = {}
    try:
        numbers = {
            role: [float(text or default) for text in items[role]]
            for role, (_, _, default) in _DECODED.items()
            if role in items
        }
    except ValueError:
        numbers = {}
    shared = all(len(set(bands)) == 1 for bands in numbers.values())
    for role, bands in numbers.items():
        name, plural, _ = _DECODED[role]
        found |= {name: bands[0]} if shared else {plural: bands}
    for role, (name, plural) in _TOLD.items():
        if role in items:
            found |= {name: items[role][0]} if len(set(items[role])) == 1 else {plural: items[role]}
    return found


def _items(text: str, samples: int) -> dict[str, list[str]]:
    """By role, the text of each band."""
    found: dict[str, list[str]] = {}
    for members, value in _ITEM.findall(text):
        item = dict(_MEMBER.findall(members))
        sample = item.get("sample", "")
        if "role" in item and sample.isdecimal() and int(sample) < samples:
            text = html.unescape(html.unescape(value))  # GDAL escapes it twice
            found.setdefault(item["role"], [""] * samples)[int(sample)] = text
    return found
