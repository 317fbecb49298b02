"""The assignment oracle compared with general solvers: the same instances, the same objectives, medians of the times.

The Rust program `assignment_speed` generates the instance on a grid of 2^-20 and writes it to
a file, so every solver sees the same integers and objectives must agree to the last one. Ours is timed with
everything included; the others solve-only, with the model built beforehand. `ratio` is of medians;
`least` is our fastest run, which tells how busy the machine was.

    bench/assignment.py            all sizes (the largest need much memory and some minutes), and which bars are met
    bench/assignment.py --check    the same, with exit code 1 if a bar is missed; machines differ, so not for CI
    bench/assignment.py --quick    under a minute: small sizes, and exactness on random instances
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import Bars, machine, program
from ortools.graph.python import min_cost_flow
from scipy import optimize, sparse

GRID = 1 << 20
# With more arms HiGHS goes on for minutes after its time limit, without an answer.
HIGHS_ARMS = 200_000


def ours(program, kind, n, m, k, seed=1, repeats=5, per_row=1, warm=False, out=None):
    command = [program, kind, n, m, k, "--seed", seed, "--repeats", repeats, "--per-row", per_row]
    command += ["--warm", 1] if warm else []
    command += ["--out", out] if out else []
    run = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def load(path, m):
    return np.rint(np.fromfile(path).reshape(-1, m) * GRID).astype(np.int64)


def ortools(w, k, keep=None, per_row=1, clock=time.perf_counter):
    """Seconds and objective of SimpleMinCostFlow; `keep` selects the arcs."""
    n, m = w.shape
    flow = min_cost_flow.SimpleMinCostFlow()
    row, block = np.nonzero(keep) if keep is not None else (np.repeat(np.arange(n), m), np.tile(np.arange(m), n))
    one = np.ones(len(row), dtype=np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(row, block + n, one, -w[row, block])
    rows, nobody = np.arange(n), n + m
    each = np.full(n, per_row, dtype=np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(rows, np.full(n, nobody), each, np.zeros(n, dtype=np.int64))
    flow.set_nodes_supplies(rows, each)
    flow.set_nodes_supplies(np.arange(m) + n, np.full(m, -k))
    flow.set_nodes_supplies(np.array([nobody]), np.array([-(n * per_row - m * k)]))
    start = clock()
    status = flow.solve()
    seconds = clock() - start
    return seconds, (-flow.optimal_cost() if status == flow.OPTIMAL else None)


def scipy_lsa(w, k):
    start = time.perf_counter()
    rows, columns = optimize.linear_sum_assignment(np.repeat(w, k, axis=1), maximize=True)
    return time.perf_counter() - start, int(w[rows, columns // k].sum())


def highs(w, k, limit, per_row=1):
    n, m = w.shape
    place = np.arange(n * m)
    one = np.ones(n * m)
    of_rows = sparse.csr_matrix((one, (place // m, place)), shape=(n, n * m))
    of_blocks = sparse.csr_matrix((one, (place % m, place)), shape=(m, n * m))
    limits = [optimize.LinearConstraint(of_rows, -np.inf, per_row), optimize.LinearConstraint(of_blocks, k, k)]
    start = time.perf_counter()
    found = optimize.milp(-w.ravel().astype(float), constraints=limits, integrality=1, bounds=optimize.Bounds(0, 1),
                          options={"time_limit": limit, "mip_rel_gap": 0})
    seconds = time.perf_counter() - start
    return seconds, (int(round(-found.fun)) if found.status == 0 else None)


def prune(w, k):
    """Only the best sum(k) rows of each promotion can matter."""
    n, m = w.shape
    if m * k >= n:
        return None
    keep = np.zeros((n, m), dtype=bool)
    for block in range(m):
        keep[np.argpartition(-w[:, block], m * k)[: m * k], block] = True
    return keep


def repeat(solver, times):
    """The median time of a solver, and its objective, which must not change."""
    runs = [solver() for _ in range(times)]
    assert len({objective for _, objective in runs}) == 1
    return statistics.median(seconds for seconds, _ in runs), runs[0][1]


def exactness(program, folder, count):
    """Random instances of all shapes, ours against OR-tools and HiGHS, to the integer."""
    rng = np.random.default_rng(7)
    path = folder / "exact.f64"
    for case in range(count):
        # Every second instance is large enough for rows to be pruned by prices from a sample.
        n, m = int(rng.integers(5, 400) if case % 2 else rng.integers(640, 6_000)), int(rng.integers(1, 9))
        per_row = int(rng.integers(1, m + 1))
        k = int(rng.integers(0, max(1, n * per_row // m // int(rng.choice([1, 2, 20]))) + 1))
        k = min(k, n)
        kind = ["bandit", "uniform", "clusters"][case % 3]
        found = ours(program, kind, n, m, k, seed=case + 1, repeats=1, per_row=per_row, out=path)["objective"]
        w = load(path, m)
        others = {"OR-tools": ortools(w, k, per_row=per_row)[1]}
        if case % 5 == 0 and n < 400:
            others["HiGHS"] = highs(w, k, 60, per_row)[1]
        for name, other in others.items():
            if other is None:
                sys.exit(f"exactness: {name} gave no optimum in case {case}")
            if other != found:
                sys.exit(f"exactness: {kind} n={n} m={m} k={k} per_row={per_row}: ours {found}, {name} {other}")
    print(f"exactness: {count} random instances agree with OR-tools (every tenth with HiGHS) to the integer\n", flush=True)


SIZES = [(5_000, 10, 50, 12), (20_000, 10, 200, 40), (100_000, 10, 1_000, 100), (1_000_000, 10, 5_000, 200),
         (1_000_000, 50, 2_000, 200)]


def row(program, folder, kind, n, m, k, bar, highs_limit, scipy_cells, bars):
    path = folder / "scores.f64"
    arms = n * m
    mine = ours(program, kind, n, m, k, repeats=51 if arms <= 2_000_000 else 9, out=path)
    w = load(path, m)
    times = 5 if arms <= 300_000 else 3 if arms <= 2_000_000 else 1
    seconds, objective = repeat(lambda: ortools(w, k), times)
    results = {"OR-tools": (seconds, objective)}
    keep = prune(w, k)
    if keep is not None:
        results["pruned"] = repeat(lambda: ortools(w, k, keep), times)
    if n * m * k <= scipy_cells:
        results["scipy"] = scipy_lsa(w, k)
    if highs_limit and arms <= HIGHS_ARMS:
        results["HiGHS"] = highs(w, k, highs_limit)
    for name, (_, other) in results.items():
        if other is not None and other != mine["objective"]:
            sys.exit(f"{kind} {n} x {m}, k = {k}: ours {mine['objective']}, {name} {other}")

    def cell(name):
        if name not in results:
            return f"{'-':>11}"
        seconds, other = results[name]
        return f"{seconds * 1e3:>11.1f}" if other is not None else f"{'> ' + format(seconds * 1e3, '.0f'):>11}"

    ratio = seconds * 1e3 / mine["median_ms"]
    bars.at_least(f"{kind} {n} x {m}, k = {k}, times faster than OR-tools", ratio, bar)
    print(f"{kind:<9}{n:>9}{m:>4}{k:>6}{mine['median_ms']:>10.2f}{mine['least_ms']:>10.2f}{cell('OR-tools')}{ratio:>9.0f}x{bar:>6}x"
          f"{cell('pruned')}{cell('scipy')}{cell('HiGHS')}", flush=True)


def warm(program, folder, kind, bars, turns=7):
    """With the prices of a round before, by turns with OR-tools. That one runs so long that a busy machine interrupts it
    while ours is done before; so its processor time counts here."""
    n, m, k, bar = 20_000, 10, 200, 80
    path, runs = folder / "warm.f64", []
    for _ in range(turns):
        mine = ours(program, kind, n, m, k, repeats=41, warm=True, out=path)
        theirs, objective = ortools(load(path, m), k, clock=time.process_time)
        assert objective == mine["objective"]
        runs.append((mine["warm"]["cold_ms"], mine["warm"]["median_ms"], theirs * 1e3))
    cold, hot, theirs = (statistics.median(column) for column in zip(*runs, strict=True))
    ratio = statistics.median(run[2] / run[1] for run in runs)
    print(f"{kind:<9}{n:>9}{m:>4}{k:>6}  cold {cold:.2f}, warm {hot:.2f}, OR-tools {theirs:.1f} of processor time: "
          f"warm {ratio:.0f} times as fast (bar {bar})", flush=True)
    bars.at_least(f"{kind} {n} x {m}, k = {k}, warm, times faster than OR-tools", ratio, bar)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes and the exactness check, under a minute")
    parser.add_argument("--highs-limit", type=float, default=60, help="seconds that HiGHS gets per instance, 0 for none")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a bar is missed")
    options = parser.parse_args()
    quick, bars = options.quick, Bars()
    speed = program("assignment_speed")
    print(f"Assignment, exact quotas, one thread, medians in ms. {machine()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exactness(speed, folder, 100 if quick else 300)
        print(f"{'scores':<9}{'N':>9}{'M':>4}{'k':>6}{'ours':>10}{'least':>10}{'OR-tools':>11}{'ratio':>10}{'bar':>7}"
              f"{'pruned':>11}{'scipy':>11}{'HiGHS':>11}")
        for kind in ["bandit"] if quick else ["bandit", "uniform"]:
            for n, m, k, bar in SIZES[:3] if quick else SIZES:
                row(speed, folder, kind, n, m, k, bar, 0 if quick else options.highs_limit,
                    5_000_000 if quick else 60_000_000, bars)
        print("\nWith the prices of a round before that has other noise:")
        for kind in ["bandit", "uniform"]:
            warm(speed, folder, kind, bars, 3 if quick else 7)
        if not quick:
            untied = ours(speed, "bandit", 1_000_000, 10, 5_000, repeats=7)["median_ms"]
            tied = ours(speed, "clusters", 1_000_000, 10, 5_000, repeats=7)["median_ms"]
            print(f"\n100 clusters of equal rows, 1000000 x 10, k = 5000: {tied:.1f} ms, untied {untied:.1f} ms, "
                  f"ratio {tied / untied:.1f} (bar 5)")
            bars.at_most("100 clusters of equal rows, times the untied", tied / untied, 5)
            bars.report(options.check)


if __name__ == "__main__":
    main()
