"""zarr-python over zaro: a store of all that zaro opens, and a pipeline that decodes with its codecs."""

from zaro.zarr.pipeline import CodecPipeline
from zaro.zarr.store import ZaroStore

__all__ = ["CodecPipeline", "ZaroStore"]
