"""Run a plan: fetch, decode, stitch. The threads that read are here.

Chunks that lie in local files, by key or by span, are read by a kernel, a batch per call, on every
thread at once. Others are fetched as bytes first; codecs that no kernel serves run in Python before
the kernel takes over.
"""

from zaro.read.run import check_output, read
from zaro.read.source import Source

__all__ = ["Source", "check_output", "read"]
