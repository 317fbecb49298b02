"""What tables cost beside a numpy array: the k best of 1,000,000 rows with 30 features, in time and memory.

Each library runs in a process of its own, so that the peak is its own. Memory is the peak during the call, the table
included, less what the process took before the table was made. Processor time is that of all threads, which other
programs disturb less than time on the clock; both are the best of all runs. `--quick` is a small version that only
checks that all choose the same arms; `--check` fails where a library takes more than 2 times what numpy takes.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

D, K = 30, 100
LIBRARIES = ["numpy", "pandas", "pandas by rows", "polars", "pyarrow", "duckdb"]


def table(library: str, x: Any) -> Any:
    """The rows of X as a table of this library, which owns them."""
    names = [f"x{j}" for j in range(D)]
    if library == "numpy":
        return x
    if library == "pandas by rows":  # as pandas keeps an array that it was given
        import pandas

        return pandas.DataFrame(x, columns=names)
    columns = {name: x[:, j].copy() for j, name in enumerate(names)}
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if library == "polars":
        import polars

        return polars.DataFrame(columns)
    import pyarrow

    arrow = pyarrow.table(columns)
    if library == "pyarrow":
        return arrow
    import duckdb

    connection = duckdb.connect()
    connection.register("arrow", arrow)
    connection.execute("create table arms as select * from arrow")
    connection.unregister("arrow")
    return connection.table("arms")


def memory(what: str) -> float:
    """VmRSS or VmHWM in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def measure(library: str, n: int, runs: int) -> dict[str, Any]:
    """One library in this process."""
    import numpy as np

    import armwise as aw

    policy = aw.ArmWiseTS(v=0.1, seed=1)
    rng = np.random.default_rng(1)
    seen = rng.normal(size=(500, D))
    known = table(library, seen)
    policy.partial_fit(known, seen[:, 0])
    policy.choose(known, k=5)
    before = memory("VmRSS")
    x = rng.normal(size=(n, D))
    arms = table(library, x)
    del x
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    clock, processor = [], []
    for _ in range(runs):
        start = time.perf_counter(), time.process_time()
        d = policy.choose(arms, K, t=7)
        clock.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
    found = {"clock": min(clock), "processor": min(processor)}
    return {**found, "mb": memory("VmHWM") - before, "rows": d.rows.tolist()}


def main() -> None:
    """Measures all libraries in turns and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    n, runs, turns = (20_000, 2, 1) if given.quick else (1_000_000, 5, 3)
    if given.one:
        print(json.dumps(measure(given.one, n, runs)))
        return
    found: dict[str, list[dict[str, Any]]] = {library: [] for library in LIBRARIES}
    for _ in range(turns):
        for library in LIBRARIES:
            command = [sys.executable, __file__, "--one", library] + (["--quick"] if given.quick else [])
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[library].append(json.loads(printed))
    expected = found["numpy"][0]["rows"]
    what = ("clock", "processor", "mb")
    best = {library: [min(run[of] for run in runs) for of in what] for library, runs in found.items()}
    print(f"| {n:,} x {D} | ms | times numpy | processor ms | times numpy | peak MB | times numpy |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    worst = 0.0
    for library, (clock, processor, mb) in best.items():
        assert all(run["rows"] == expected for run in found[library]), f"{library} chose other arms"
        slower, dearer, larger = (ours / numpy for ours, numpy in zip(best[library], best["numpy"], strict=True))
        worst = max(worst, slower, dearer, larger)
        times = f"{1e3 * clock:.1f} | {slower:.2f} | {1e3 * processor:.1f} | {dearer:.2f}"
        print(f"| {library} | {times} | {mb:.0f} | {larger:.2f} |")
    if given.check and worst > 2.0:
        sys.exit(f"a library takes {worst:.2f} times what numpy takes")


if __name__ == "__main__":
    main()
