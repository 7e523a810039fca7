"""The kernels of csrc, one module per header. A thin wrapper each: no loop, no policy."""

try:
    from zaro._core import grid as grid  # which stands for all: they are built together
except ImportError as err:  # a checkout that was never built
    raise ImportError(
        "zaro's compiled core is missing or does not fit this Python; build it with "
        "`pip install --no-build-isolation -e .` (see the developer section of README.md)"
    ) from err
