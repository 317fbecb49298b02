"""`linear` rows beside HiGHS, one thread each: random 0-1 programs of 2,000 arms and 20 rows, and smaller ones.

Our solver is microlp (the cargo feature `linear`); with `linear-highs` it would be HiGHS itself. Each gets `--limit`
seconds of wall time. Objectives must agree where both finish.

    bench/linear.py [--limit 20] [--repeats 3]
"""
import argparse
import statistics
import time

import highspy
import numpy as np
from common import machine, solve


def draw(seed, arms, rows, share):
    """Scores in sixty-fourths; every row is a knapsack over `share` of the arms, and the last one a number of arms."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, 65, arms) / 64
    weights = rng.integers(1, 33, (rows, arms)) / 32 * (rng.random((rows, arms)) < share)
    weights[-1] = 1
    limits = np.floor(weights.sum(axis=1) * 4) / 32
    limits[-1] = arms // 4
    return scores, weights, limits


def ours(scores, weights, limits, limit):
    columns = {f"w{r}": row.tolist() for r, row in enumerate(weights)}
    rows = [{"column": f"w{r}", "hi": float(hi)} for r, hi in enumerate(limits)]
    constraint = {"kind": "linear", "rows": rows, "time_limit": limit}
    [answer] = solve([{"scores": scores.tolist(), "columns": columns, "constraint": constraint}])
    if "error" in answer:  # nothing was found within the limit
        return limit, 0.0, np.inf, False
    return answer["seconds"], answer["objective"], answer["upper_bound"], answer["optimal"]


def highs(scores, weights, limits, limit):
    model = highspy.HighsLp()
    rows, arms = weights.shape
    model.num_col_, model.num_row_ = arms, rows
    model.col_cost_, model.col_lower_, model.col_upper_ = -scores, np.zeros(arms), np.ones(arms)
    model.row_lower_, model.row_upper_ = np.full(rows, -highspy.kHighsInf), limits.astype(float)
    places = [np.flatnonzero(row) for row in weights]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.cumsum([0] + [len(place) for place in places])
    model.a_matrix_.index_ = np.concatenate(places)
    model.a_matrix_.value_ = np.concatenate([row[place] for row, place in zip(weights, places, strict=True)])
    model.integrality_ = [highspy.HighsVarType.kInteger] * arms
    solver = highspy.Highs()
    for name, value in [("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("time_limit", limit)]:
        solver.setOptionValue(name, value)
    solver.passModel(model)
    started = time.perf_counter()
    solver.run()
    found = solver.getInfo()
    finished = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    value = -found.objective_function_value
    return time.perf_counter() - started, value if np.isfinite(value) else 0.0, -found.mip_dual_bound, finished


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"machine: {machine()}; HiGHS {highspy.Highs().version()}; {options.limit:g} s each; medians of {options.repeats}")
    print(f"{'arms x rows':>14} {'ours s':>8} {'finished':>9} {'gap':>8} {'HiGHS s':>8} {'finished':>9} {'gap':>8}")
    for arms, rows, share in [(200, 5, 0.5), (500, 10, 0.3), (2_000, 20, 0.1)]:
        runs = []
        for seed in range(options.repeats):
            instance = draw(seed, arms, rows, share)
            both = ours(*instance, options.limit), highs(*instance, options.limit)
            (_, own, _, own_done), (_, other, _, other_done) = both
            assert not (own_done and other_done) or abs(own - other) < 1e-6, (arms, rows, seed, both)
            assert own <= both[1][2] + 1e-6, "better than HiGHS's bound"
            runs.append(both)
        cells = []
        for side in (0, 1):
            seconds = statistics.median(run[side][0] for run in runs)
            done = sum(run[side][3] for run in runs)
            # Below the better of the two bounds; infinite where nothing was found.
            gaps = [(min(run[0][2], run[1][2]) / run[side][1] - 1) if run[side][1] > 0 else np.inf for run in runs]
            cells.append(f"{seconds:8.2f} {done:>5}/{options.repeats:<3} {max(0.0, *gaps):8.1e}")
        print(f"{f'{arms} x {rows}':>14} {cells[0]} {cells[1]}", flush=True)
