"""Groups beside quotas: the assignment oracle compared with HiGHS's linear program, and with itself without groups.

The Rust program `assignment_speed` generates the instance and solves it without groups, with them and, if asked, with a
budget as well, all in one run, so that ratios hold whatever else the machine does. HiGHS gets the same scores as a linear
program, which for nested groups has the same optimum; it is solved by its own choice of method.

    bench/groups.py            all sizes, and which bars are met
    bench/groups.py --check    the same, with exit code 1 if a bar is missed; machines differ, so not for CI
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import Bars, machine, program
from scipy import optimize, sparse


def ours(path, kind, n, m, k, *options, out=None):
    command = [path, kind, n, m, k, *options, *(["--out", out] if out else [])]
    run = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def highs(scores, region, limits, k):
    """Seconds and optimum of the linear program: quotas, one promotion each, groups over all promotions."""
    n, m = scores.shape
    place = np.arange(n * m)
    one = np.ones(n * m)
    of_rows = sparse.csr_matrix((one, (place // m, place)), shape=(n, n * m))
    of_blocks = sparse.csr_matrix((one, (place % m, place)), shape=(m, n * m))
    of_groups = sparse.csr_matrix((one, (region[place // m], place)), shape=(len(limits), n * m))
    low, high = np.array(limits, dtype=float).T
    rows = sparse.vstack([of_rows, of_groups, -of_groups[np.isfinite(-low) & (low > 0)]])
    most = np.concatenate([np.ones(n), high, -low[low > 0]])
    finite = np.isfinite(most)
    start = time.perf_counter()
    found = optimize.linprog(-scores.ravel(), A_ub=rows[finite], b_ub=most[finite], A_eq=of_blocks, b_eq=np.full(m, float(k)),
                             bounds=(0, 1), method="highs")
    assert found.status == 0, found.message
    return time.perf_counter() - start, -found.fun


def beside_highs(path, bars, folder):
    """64,000 x 2 with five groups."""
    n, m, k, groups = 64_000, 2, 5_000, 5
    found = ours(path, "bandit", n, m, k, "--groups", groups, "--repeats", 5, out=folder / "scores.f64")
    scores = np.fromfile(folder / "scores.f64").reshape(n, m)
    region = np.array(found["region"])
    fair = k * m // groups
    limits = [((fair * 8 // 5 if group % 3 == 1 else 0), (fair * 2 // 5 if group % 3 == 0 else np.inf))
              for group in range(groups)]
    seconds, best = highs(scores, region, limits, k)
    milliseconds, objective = found["groups"]["median_ms"], found["groups"]["objective"]
    assert abs(objective - best) < 1e-6 * abs(best), (objective, best)
    print(f"| {n:,} x {m}, {groups} groups | {milliseconds:.1f} | {1e3 * seconds:,.0f} | {1e3 * seconds / milliseconds:,.0f} |", flush=True)
    bars.at_least(f"{n} x {m} with {groups} groups, times faster than HiGHS's linear program", 1e3 * seconds / milliseconds, 100)


def beside_plain(path, bars):
    print("\n| scores | N | M | k | groups | without (ms) | with groups | times | with a budget | times | gap |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    cases = [("bandit", 64_000, 2, 5_000, 5, 0), ("bandit", 200_000, 10, 1_000, 20, 0), ("bandit", 1_000_000, 10, 5_000, 20, 0),
             ("bandit", 1_000_000, 10, 5_000, 20, 1), ("clusters", 1_000_000, 10, 5_000, 20, 0)]
    for kind, n, m, k, groups, cells in cases:
        options = ["--groups", groups, "--repeats", 3, *(["--cells", 1] if cells else ["--budget", 0.9])]
        found = ours(path, kind, n, m, k, *options)
        plain, grouped, budget = found["median_ms"], found["groups"], found.get("budget")
        assert grouped["optimal"]
        each = f"{groups} x {m}" if cells else f"{groups}"
        dear = (f"{budget['median_ms']:,.0f} | {budget['median_ms'] / plain:.1f} | {budget['gap']:.1e}" if budget else " |  | ")
        print(f"| {kind} | {n:,} | {m} | {k:,} | {each} | {plain:.1f} | {grouped['median_ms']:,.0f} | "
              f"{grouped['median_ms'] / plain:.1f} | {dear} |", flush=True)
        if n == 1_000_000:
            bars.at_most(f"{kind} {n} x {m}, {each} groups, times without groups", grouped["median_ms"] / plain, 60)
            if budget:
                bars.at_most(f"{kind} {n} x {m} with a budget, times without groups", budget["median_ms"] / plain, 60)
                bars.at_most(f"{kind} {n} x {m} with a budget, gap", budget["gap"], 1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    path, bars = program("assignment_speed"), Bars()
    print(f"{machine()}\n\n| instance | ours (ms) | HiGHS's linear program | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        beside_highs(path, bars, Path(folder))
    beside_plain(path, bars)
    bars.report(check)


if __name__ == "__main__":
    main()
