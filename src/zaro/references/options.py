"""The options of every way in, under the name by which this room knows them."""

from zaro.options import Options

__all__ = ["Options"]
