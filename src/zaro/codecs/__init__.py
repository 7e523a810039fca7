"""From stored bytes to values: the chain, and who decodes each step."""

from zaro.codecs.chain import Chain, compile_chain
from zaro.codecs.parts import BytesStep, CodecLike
from zaro.codecs.registry import providers

__all__ = ["BytesStep", "Chain", "CodecLike", "compile_chain", "providers"]
