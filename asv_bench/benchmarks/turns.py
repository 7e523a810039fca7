"""Several ways to the same thing, timed in turn: what else the machine does falls on all of them alike."""

from __future__ import annotations

import time


def best_in_turn(tries, repeat):
    """Milliseconds of the best of `repeat` runs of each."""
    times = {name: [] for name in tries}
    for _ in range(repeat):
        for name, run in tries.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    return {name: min(seconds) * 1e3 for name, seconds in times.items()}
