"""Run the benchmarks and print their tables: `python -m bench [name …] [--seeds N]`."""

from __future__ import annotations

import argparse
import os
import platform
import time

from bench import logs, losses, merging, metrics, pairs, propensities, rankers, reading, simulation, variance

BENCHMARKS = {
    "losses": losses.main,
    "pairs": pairs.main,
    "rankers": rankers.main,
    "merging": merging.main,
    "metrics": metrics.main,
    "reading": reading.main,
    "simulation": simulation.main,
    "variance": variance.main,
    "logs": logs.main,
    "propensities": propensities.main,
}

LONG = ("variance",)
"""These are run only if named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[[], *BENCHMARKS], help="which to run; all but the long ones if none is named"
    )
    parser.add_argument("--seeds", type=int, default=3, help="how many data sets the rankers are compared on")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    for name in options.names or [name for name in BENCHMARKS if name not in LONG]:
        began = time.perf_counter()
        BENCHMARKS[name](options.seeds)
        print(f"({name} took {time.perf_counter() - began:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
