"""From existing files to reference sets, and from many sets to one."""

from zaro.scan.append import append
from zaro.scan.combine import concat, merge
from zaro.scan.open import scan

__all__ = ["append", "concat", "merge", "scan"]
