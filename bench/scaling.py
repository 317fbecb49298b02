"""How the time of a choice grows with N, d, M and threads, compared with numpy's best form, as a plot.

One case differs from the centre (N = 100,000, d = 51, M = 1, one thread, arm-wise Thompson sampling) in one respect only.

    bench/scaling.py            all cases; writes bench/results/scaling.json and .svg
    bench/scaling.py --quick    two small cases of each axis; writes nothing, says only that it works
"""
import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from choose import FORMS, RESULTS, Ours, Problem, algorithm_of, interleave, kernels, numpy_round, pin_numpy, timed_runs
from common import free_numpy, machine
from threadpoolctl import threadpool_limits

CENTRE = {"n": 100_000, "d": 51, "blocks": 1, "threads": 1}
AXES = {
    "n": [1_000, 10_000, 100_000, 1_000_000],
    "d": [4, 11, 25, 51, 128, 256],
    "blocks": [1, 2, 5, 10, 20],
    "threads": [1, 2],
}
LABELS = {"n": "arms N", "d": "features d", "blocks": "promotions M", "threads": "threads"}
# These two forms are never far from the best; the others would only cost time here.
NUMPY = ("chunked", "W-form")


def measure(ours, folder, n, d, blocks, threads, seconds):
    k = max(10, n // 1000)
    problem = Problem(n, d, blocks)
    constraint = {"kind": "top-k", "k": k} if blocks == 1 else {"kind": "assignment", "quotas": [k] * blocks}
    problem.load(ours, folder, algorithm_of("arm-wise-ts"), threads, "f64")
    rng = np.random.default_rng(2)
    candidates = {"ours": ours.runs(constraint)}
    for form in NUMPY:
        candidates[form] = timed_runs(lambda widths=FORMS[form]: numpy_round(problem, widths, "arm-wise-ts", k, rng))
    with threadpool_limits(threads):
        pin_numpy(threads)
        times = interleave(candidates, seconds, least=2, threads=threads)
    return times["ours"]["median"], min(times[form]["median"] for form in NUMPY)


def plot(curves, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(13, 3.6), sharey=False)
    for axis, (name, points) in zip(axes, curves.items()):
        x = [point["at"] for point in points]
        for label, colour, marker in (("ours", "#0072B2", "o"), ("numpy", "#D55E00", "s")):
            y = [point[label] * 1e3 for point in points]
            axis.plot(x, y, marker=marker, color=colour, label=label)
            axis.annotate(label, (x[-1], y[-1]), textcoords="offset points", xytext=(-4, 6), ha="right", color=colour)
        axis.set_yscale("log")
        axis.margins(y=0.15)
        if name != "threads":
            axis.set_xscale("log")
        axis.set_xticks(x, [f"{value:,}" for value in x], rotation=30 if name == "n" else 0)
        axis.minorticks_off()
        axis.set_xlabel(LABELS[name])
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("ms per choice, median")
    figure.suptitle("Arm-wise Thompson sampling, f64, around N = 100,000, d = 51, M = 1, one thread", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small cases of each axis; nothing is written")
    quick = parser.parse_args().quick
    free_numpy()
    centre, seconds = ({**CENTRE, "n": 2_000}, 0.1) if quick else (CENTRE, 2)
    curves, ours = {}, Ours(kernels()[0])
    with tempfile.TemporaryDirectory() as name:
        for axis, values in AXES.items():
            curves[axis] = []
            for value in values[:2] if quick else values:
                mine, theirs = measure(ours, Path(name), **{**centre, axis: value}, seconds=seconds)
                curves[axis].append({"at": value, "ours": mine, "numpy": theirs})
                print(f"{LABELS[axis]:<14}{value:>10,}{mine * 1e3:>11.3f} ms, numpy {theirs * 1e3:>10.2f} ms, {theirs / mine:>5.1f}x", flush=True)
    ours.close()
    if not quick:
        plot(curves, RESULTS / "scaling.svg")
        (RESULTS / "scaling.json").write_text(json.dumps({"machine": machine(), "centre": CENTRE, "curves": curves}, indent=1) + "\n")


if __name__ == "__main__":
    main()
