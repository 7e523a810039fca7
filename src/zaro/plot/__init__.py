"""Pictures of reference sets: what they hold, how large they are, and what a read of them costs."""

from zaro.plot.show import plot

__all__ = ["plot"]
