"""Several ways to the same thing, timed in turn: what else the machine does falls on all of them alike."""

from __future__ import annotations

import argparse
import time


def command(doc):
    """A script's command line: how often each way is tried, and the latency of the server behind it."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=30, help="milliseconds before each answer (30)")
    parser.add_argument("--repeat", type=int, default=5, help="tries of each way (5)")
    return parser


def best_in_turn(tries, repeat):
    """Milliseconds of the best of `repeat` runs of each, which are printed too."""
    times = {name: [] for name in tries}
    for _ in range(repeat):
        for name, run in tries.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    best = {name: min(seconds) * 1e3 for name, seconds in times.items()}
    for name, ms in best.items():
        print(f"{name}: {ms:.0f} ms")
    return best
