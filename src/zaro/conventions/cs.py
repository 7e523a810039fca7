"""cs."""
from __future__ import annotations
from zaro.conventions.base import ConventionHandler
__all__ = ["CSHandler"]
class CSHandler(ConventionHandler):
    tier, name, uuid = "principal", "cs", "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
