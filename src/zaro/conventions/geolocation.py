"""geo."""
from __future__ import annotations
from zaro.conventions.base import ConventionHandler
__all__ = ["GeolocationHandler"]
class GeolocationHandler(ConventionHandler):
    tier, name, uuid = "service", "geolocation", "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
