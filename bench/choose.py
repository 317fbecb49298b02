"""Choosing compared with what a user would write in numpy, and with other bandit packages.

The library runs in a separate process that waits for commands (`choose_beside`), so the repetitions of all
contestants are interleaved in one session, on the same features and the same model. Each is timed alone: ours by
the program around the call, numpy's around the function. All draw their random numbers within the timed part. In
its turn a contestant runs for about 20 ms, at least three times. The first third of the runs is not counted, since
the others have just filled the caches, and an idle processor takes a while to reach its speed. The ratio is that of
medians, against the fastest of the forms; for a catalogue, whose rounds differ, that of means over 20 rounds of
choosing and learning.

OpenBLAS chooses its kernels for the processor by itself: settings of the environment that hold it back are dropped.

Beside them runs one pass over X, a plain read of all features with the same threads: `passes` is our time in units of
it. Where the processor has AVX-512, all is measured a second time with `ARMWISE_KERNEL=avx2`.

    bench/choose.py            all cases, 1 and 2 threads; writes bench/results/choose.json and .md
    bench/choose.py --quick    three small cases and a small catalogue, a minute, no packages; says only that it works
    bench/choose.py --only "1e6 x 51" --threads 1 --policies c2ucb    a part of it; writes nothing
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import ROOT, free_numpy, machine, program
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

LAMBDA, V, ALPHA = 1.0, 0.1, 0.1
# Seconds of a turn.
TURN = 0.02
# OpenBLAS's second thread goes on spinning for some 20 ms after its work, on the core that ours would use.
REST = 0.06
# The cores that may be used, where the system tells.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
RESULTS = ROOT / "bench" / "results"
# name, N, d, k, blocks, bar: one, or one for each way to store X. It is that of arm-wise TS with one thread.
CASES = [
    ("100 x 11", 100, 11, 5, 1, 4.0),
    ("2000 x 11", 2_000, 11, 100, 1, 3.5),
    ("20000 x 51", 20_000, 51, 200, 1, 9.0),
    ("1e6 x 51", 1_000_000, 51, 1_000, 1, {"f64": 8.0, "f32": 12.0}),
    ("2e5 x 128", 200_000, 128, 1_000, 1, 4.5),
    ("5e4 x 510", 50_000, 510, 500, 1, 3.5),
    ("20000 x 51, M = 10", 20_000, 51, 200, 10, 4.5),
]
# As above, for hard problems, which have no bar.
HARD = [("20000 x 51, hard", 20_000, 51, 200, 1, None), ("2e5 x 128, hard", 200_000, 128, 1_000, 1, None)]
# Of a case and policy, at most so many passes over X.
PASSES = {("1e6 x 51", "arm-wise-ts", "f32"): 2.0, ("1e6 x 51 in 1000 clusters, catalogue", "c2ucb", "f64"): 0.3,
          ("1e6 x 51 in 1000 clusters, catalogue", "pc2ucb", "f64"): 0.3,
          ("1e6 x 51 in 1000 clusters, catalogue", "arm-wise-ts", "f64"): 0.7}
# Arm-wise TS takes at most so many times the time of C2UCB on the same arms.
DRAWS, OF = 1.3, ("20000 x 51", "1e6 x 51", "2e5 x 128")
# name, N, d, k, clusters, policies with their bars: the same arms in 20 rounds of choosing and learning, the average
CATALOGUES = [("2e5 x 128", 200_000, 128, 1_000, None, {"arm-wise-ts": 15, "c2ucb": 15}),
              ("1e6 x 51", 1_000_000, 51, 1_000, None, {"arm-wise-ts": 12, "c2ucb": 12}),
              ("1e6 x 51 in 1000 clusters", 1_000_000, 51, 1_000, 1_000, {"arm-wise-ts": 30, "c2ucb": 60, "pc2ucb": 60})]
ROUNDS = 20
POLICIES = ("arm-wise-ts", "c2ucb", "pc2ucb")


def kernels():
    """The paths that are measured: the widest that the processor has, and AVX2."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text().split() if info.exists() else []
    return [name for name, flag in (("avx512", "avx512f"), ("avx2", "avx2")) if flag in flags] or ["portable"]


class Ours:
    """The library in a separate process, on a path of its kernel."""

    def __init__(self, kernel):
        self.kernel = kernel
        environment = {**os.environ, "ARMWISE_KERNEL": kernel}
        self.process = subprocess.Popen([program("choose_beside")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def runs(self, constraint):
        """A contestant for `interleave`."""
        return lambda t, count: self.ask(choose={"t": t + 1, "constraint": constraint, "runs": count})["runs"]

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("choose_beside has ended")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Problem:
    """Arms on the unit sphere, and a model that has seen some of them in every block.

    A hard one has features of very different sizes, so that widths differ by far more than means do, and bounds from
    the means, which save most of the work elsewhere, prune few arms.
    """

    def __init__(self, n, d, blocks, seed=1, hard=False, clusters=None):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, d))
        if clusters:
            # Items of a kind: a centre on the sphere, and a tenth of its length away from it.
            centres = rng.standard_normal((clusters, d))
            x = 0.1 * x + centres[rng.integers(clusters, size=n)]
        if hard:
            x *= np.geomspace(1.0, 0.01, d)
        self.x = x / np.linalg.norm(x, axis=1, keepdims=True)
        self.blocks = blocks
        self.seen = self.x[rng.choice(n, min(n // 2, 20 * d), replace=False)]
        self.truth = rng.standard_normal((d, blocks)) / np.sqrt(d)
        self.rewards = self.seen @ self.truth + 0.1 * rng.standard_normal((len(self.seen), blocks))
        gram = LAMBDA * np.eye(d) + self.seen.T @ self.seen
        # Every block has seen the same rows, but no contestant may make use of that.
        self.inverse = [np.linalg.inv(gram) for _ in range(blocks)]
        self.factor = [np.linalg.cholesky(gram) for _ in range(blocks)]
        self.w = [np.linalg.inv(factor) for factor in self.factor]
        self.theta = np.ascontiguousarray((self.inverse[0] @ (self.seen.T @ self.rewards)))

    def load(self, ours, folder, algorithm, threads, storage, catalogue=False):
        files = {"x": self.x, "seen": self.seen, "rewards": self.rewards}
        paths = {name: str(folder / name) for name in files}
        for name, array in files.items():
            np.ascontiguousarray(array).tofile(paths[name])
        n, d = self.x.shape
        ours.ask(load={**paths, "n": n, "d": d, "storage": storage, "blocks": self.blocks, "threads": threads,
                       "algorithm": algorithm, "catalogue": catalogue})
        pin(ours.process.pid, threads)


def widths_naive(p, j):
    return np.sqrt(((p.x @ p.inverse[j]) * p.x).sum(1))


def widths_einsum(p, j):
    return np.sqrt(np.einsum("ij,ij->i", p.x @ p.inverse[j], p.x))


def widths_chunked(p, j):
    squares = np.empty(len(p.x))
    for first in range(0, len(p.x), 2048):
        part = p.x[first:first + 2048]
        squares[first:first + 2048] = np.einsum("ij,ij->i", part @ p.inverse[j], part)
    return np.sqrt(squares)


def widths_w(p, j):
    squares = np.empty(len(p.x))
    w = p.w[j].T
    for first in range(0, len(p.x), 2048):
        y = p.x[first:first + 2048] @ w
        squares[first:first + 2048] = np.einsum("ij,ij->i", y, y)
    return np.sqrt(squares)


def widths_solve(p, j):
    y = solve_triangular(p.factor[j], p.x.T, lower=True, check_finite=False)
    return np.sqrt(np.einsum("ij,ij->j", y, y))


FORMS = {"naive": widths_naive, "einsum": widths_einsum, "chunked": widths_chunked, "W-form": widths_w,
         "solve_triangular": widths_solve}


def best_of(scores, k):
    top = np.argpartition(-scores, k - 1)[:k]
    return top[np.argsort(-scores[top])]


def numpy_round(p, form, policy, k, rng):
    """The best k arms of each block, chosen independently; with several blocks ours has to do more than that."""
    means = p.x @ p.theta
    chosen = []
    for j in range(p.blocks):
        width = form(p, j)
        bonus = {"c2ucb": lambda: ALPHA * width, "pc2ucb": lambda: ALPHA * (1 + rng.random(len(width))) * width,
                 "arm-wise-ts": lambda: V * rng.standard_normal(len(width)) * width}[policy]()
        chosen.append(best_of(means[:, j] + bonus, k))
    return chosen


def algorithm_of(policy):
    own = {"c2ucb": {"alpha": ALPHA}, "pc2ucb": {"alpha": ALPHA, "c": 1.0}, "arm-wise-ts": {"v": V}}
    return {"name": policy, "lambda": LAMBDA, **own[policy]}


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def timed_runs(call):
    """A contestant for `interleave` from a function that is called repeatedly."""
    return lambda t, count: [timed(call)[0] for _ in range(count)]


def put(thread, core):
    """Leaves a thread that core alone, unless it has just ended."""
    try:
        os.sched_setaffinity(thread, {core})
    except ProcessLookupError:
        pass


def threads_of(process):
    """The threads of a process, the oldest first."""
    tasks = Path(f"/proc/{process}/task")
    return sorted(int(task.name) for task in tasks.iterdir()) if CORES else []


def pin(process, threads):
    """Gives each working thread of a process a core of its own, where several work: the last ones made.

    On some virtual machines an idle core looks taken to the kernel, so that it wakes a second thread on the core of the
    first, where it waits for milliseconds: then times say where threads were put rather than what they do."""
    if threads > 1:
        for thread, core in zip(threads_of(process)[-threads:], itertools.cycle(CORES)):
            put(thread, core)


def pin_numpy(threads):
    """As `pin`, for numpy, whose first thread is this one; each library of linear algebra has others of its own."""
    if threads > 1 and CORES:
        own, *others = threads_of("self")
        put(own, CORES[0])
        for thread, core in zip(others, itertools.cycle(CORES[1:threads] or CORES)):
            put(thread, core)


def rest(threads):
    """Waits until numpy's other threads have gone to sleep."""
    if threads > 1:
        time.sleep(REST)


def interleave(contestants, seconds, least=3, most=600, threads=1):
    """Medians and minima of the contestants' times, in turns; a contestant returns the seconds of each of its runs."""
    times = {name: [] for name in contestants}
    counts = {name: max(3, min(200, round(TURN / min(call(0, 3))))) for name, call in contestants.items()}
    begun, turns = time.perf_counter(), 0
    while turns < least or (turns < most and time.perf_counter() - begun < seconds):
        for name, call in contestants.items():
            rest(threads)
            times[name] += call(turns * counts[name], counts[name])[(counts[name] + 1) // 3:]
        turns += 1
    return {name: {"median": statistics.median(all), "least": min(all), "runs": len(all)} for name, all in times.items()}


HEAD = f"{'case':<38}{'policy':<13}{'X':<5}{'path':<9}{'n':<3}{'ours':>9}{'peer':>10}  {'form':<17}{'ratio':>7}{'bar':>7}{'passes':>8}"


def row_of(name, shape, threads, policy, storage, kernel, times, best, bar):
    """A row of the table from the times of ours, of a peer and of one pass over X; printed too."""
    n, d, k, blocks = shape
    ours, ratio = times["ours"]["median"], times[best]["median"] / times["ours"]["median"]
    row = {"case": name, "n": n, "d": d, "k": k, "blocks": blocks, "threads": threads, "policy": policy, "storage": storage,
           "kernel": kernel, "times": times, "best": best, "ratio": ratio, "bar": bar,
           "passes": ours / times["pass"]["median"], "most_passes": PASSES.get((name, policy, storage))}
    print(f"{name:<38}{policy:<13}{storage:<5}{kernel:<9}{threads:<3}{ours * 1e3:>9.3f}{times[best]['median'] * 1e3:>10.2f}  "
          f"{best:<17}{ratio:>6.1f}x{f'{bar}x' if bar else '-':>7}{row['passes']:>8.2f}", flush=True)
    return row


def choose_case(all_ours, folder, name, n, d, k, blocks, bar, threads, seconds, policies=POLICIES, hard=False):
    problem = Problem(n, d, blocks, hard=hard)
    constraint = {"kind": "top-k", "k": k} if blocks == 1 else {"kind": "assignment", "quotas": [k] * blocks}
    rows = []
    with threadpool_limits(threads):
        pin_numpy(threads)
        for policy in [policy for policy in ("arm-wise-ts", "c2ucb") if policy in policies]:
            for storage in ("f64", "f32"):
                rng, contestants = np.random.default_rng(2), {}
                for ours in all_ours:
                    problem.load(ours, folder, algorithm_of(policy), threads, storage)
                    contestants[ours.kernel] = ours.runs(constraint)
                contestants["pass"] = lambda t, count: all_ours[0].ask(**{"pass": {"runs": count}})["runs"]
                for form, widths in FORMS.items():
                    contestants[form] = timed_runs(lambda widths=widths: numpy_round(problem, widths, policy, k, rng))
                if policy == "c2ucb" and storage == "f64":
                    check(all_ours[0], problem, constraint, k)
                times = interleave(contestants, seconds, threads=threads)
                best = min(FORMS, key=lambda form: times[form]["median"])
                for ours in all_ours:
                    own = {"ours": times[ours.kernel], **{who: times[who] for who in ("pass", *FORMS)}}
                    own_bar = bar[storage] if isinstance(bar, dict) else bar
                    own_bar = own_bar if policy == "arm-wise-ts" and threads == 1 else None
                    rows.append(row_of(name, (n, d, k, blocks), threads, policy, storage, ours.kernel, own, best, own_bar))
    return rows


def draws_case(all_ours, seconds):
    """Normal numbers on one thread, beside numpy's own."""
    n, rng = 65_536, np.random.default_rng(4)
    out = np.empty(n)
    contestants = {ours.kernel: lambda t, count, ours=ours: ours.ask(draws={"n": n, "runs": count})["runs"] for ours in all_ours}
    contestants["standard_normal"] = timed_runs(lambda: rng.standard_normal(out=out))
    times, rows = interleave(contestants, seconds), []
    for ours in all_ours:
        ratio = times["standard_normal"]["median"] / times[ours.kernel]["median"]
        own = {"ours": times[ours.kernel], "standard_normal": times["standard_normal"]}
        rows.append({"case": "65536 normal numbers", "n": n, "kernel": ours.kernel, "times": own, "best": "standard_normal",
                     "policy": "", "storage": "", "ratio": ratio, "bar": 2.0})
        print(f"a normal number, {ours.kernel:<9}{times[ours.kernel]['median'] * 1e9 / n:>7.2f} ns, numpy's standard_normal "
              f"{times['standard_normal']['median'] * 1e9 / n:.2f} ns{ratio:>8.1f}x{2.0:>6}x", flush=True)
    return rows


def check(ours, problem, constraint, k):
    """Without random numbers both must choose the same arms, up to the last digits of a score."""
    chosen = [row for row, _ in ours.ask(choose={"t": 1, "constraint": constraint})["chosen"]]
    if problem.blocks > 1:
        return
    scores = problem.x @ problem.theta[:, 0] + ALPHA * widths_naive(problem, 0)
    theirs = best_of(scores, k)
    if not np.allclose(scores[chosen], scores[theirs], rtol=1e-9):
        sys.exit("numpy chose better arms")


def catalogue_case(all_ours, folder, name, n, d, k, clusters, policies, threads):
    """The same arms in every round: ours keeps them in a catalogue, numpy computes everything again."""
    problem, rows = Problem(n, d, 1, clusters=clusters), []
    gram = LAMBDA * np.eye(d) + problem.seen.T @ problem.seen
    with threadpool_limits(threads):
        pin_numpy(threads)
        for policy, bar in policies.items():
            rng, noise = np.random.default_rng(2), np.random.default_rng(3)

            def theirs(form):
                problem.inverse[0], problem.factor[0] = np.linalg.inv(gram), np.linalg.cholesky(gram)
                problem.w[0] = np.linalg.inv(problem.factor[0])
                return numpy_round(problem, FORMS[form], policy, k, rng)

            once = {form: min(timed(lambda: theirs(form))[0] for _ in range(2)) for form in FORMS}
            best = min(once, key=once.get)
            times = {"pass": [], best: [], **{ours.kernel: [] for ours in all_ours}}
            for ours in all_ours:
                problem.load(ours, folder, algorithm_of(policy), threads, "f64", catalogue=True)
            for t in range(ROUNDS):
                errors = 0.1 * noise.standard_normal(k)
                for ours in all_ours:
                    rest(threads)
                    answer = ours.ask(choose={"t": t + 2, "constraint": {"kind": "top-k", "k": k}})
                    times[ours.kernel].append(answer["seconds"])
                    rewards = problem.x[[row for row, _ in answer["chosen"]]] @ problem.truth[:, 0] + errors
                    ours.ask(learn={"rewards": list(rewards)})
                rest(threads)
                times["pass"] += all_ours[0].ask(**{"pass": {"runs": 1}})["runs"]
                times[best].append(timed(lambda: theirs(best))[0])
            means = {who: {"median": statistics.mean(all), "least": min(all), "runs": ROUNDS} for who, all in times.items()}
            for ours in all_ours:
                own = {"ours": means[ours.kernel], "pass": means["pass"], best: means[best]}
                row = row_of(f"{name}, catalogue", (n, d, k, 1), threads, policy, "f64", ours.kernel, own, best, bar)
                rows.append({**row, "rounds": times[ours.kernel]})
    return rows


def sampling_case(ours, folder, seconds):
    """Arm-wise Thompson sampling as one would write it from the paper: a theta for every arm."""
    n, d, k = 20_000, 51, 200
    problem = Problem(n, d, 1)
    rng = np.random.default_rng(3)
    w, theta = problem.w[0], problem.theta[:, 0]
    covariance = V * V * problem.inverse[0]

    def vectorised():
        thetas = theta + V * rng.standard_normal((n, d)) @ w
        return best_of(np.einsum("ij,ij->i", problem.x, thetas), k)

    def literal():
        scores = [rng.multivariate_normal(theta, covariance, method="cholesky") @ x for x in problem.x]
        return best_of(np.array(scores), k)

    with threadpool_limits(1):
        problem.load(ours, folder, algorithm_of("arm-wise-ts"), 1, "f64")
        constraint = {"kind": "top-k", "k": k}
        choose = lambda t, count: ours.ask(choose={"t": t + 1, "constraint": constraint, "runs": count})["runs"]
        times = interleave({"ours": choose, "vectorised": timed_runs(vectorised)}, seconds)
        times.update(interleave({"literal": timed_runs(literal)}, 0, least=1))
    rows = []
    for name, bar in (("vectorised", 20), ("literal", 500)):
        ratio = times[name]["median"] / times["ours"]["median"]
        rows.append({"case": f"a theta for every arm, {name}", "n": n, "d": d, "k": k, "times": times, "ratio": ratio, "bar": bar})
        print(f"a theta for every arm, {name:<12}{times['ours']['median'] * 1e3:>10.3f}{times[name]['median'] * 1e3:>12.1f}"
              f"{ratio:>9.0f}x{bar:>6}x", flush=True)
    return rows


def packages_case(ours, folder, seconds):
    """A whole round, choosing and learning, compared with packages that people use."""
    import peers

    n, d, k = 2_000, 11, 100
    problem = Problem(n, d, 1)
    rewards = [0.5] * k
    rows = []
    with threadpool_limits(1):
        problem.load(ours, folder, algorithm_of("arm-wise-ts"), 1, "f64")

        later = itertools.count(2)  # every round is learned from once

        def ours_round():
            chosen = ours.ask(choose={"t": next(later), "constraint": {"kind": "top-k", "k": k}})
            return chosen["seconds"] + ours.ask(learn={"rewards": rewards})["seconds"]

        rounds = lambda t, count: [ours_round() for _ in range(count)]
        for name, (make, bar) in peers.PEERS.items():
            peer = make(problem.x, k)
            times = interleave({"ours": rounds, name: timed_runs(peer)}, seconds)
            ratio = times[name]["median"] / times["ours"]["median"]
            rows.append({"case": f"one round, {name}", "n": n, "d": d, "k": k, "times": times, "ratio": ratio, "bar": bar})
            print(f"one round, {name:<40}{times['ours']['median'] * 1e3:>10.3f}{times[name]['median'] * 1e3:>12.2f}"
                  f"{ratio:>9.0f}x{(str(bar) + 'x') if bar else '-':>7}", flush=True)
    return rows


def table(rows):
    """The results as Markdown."""
    lines = ["| case | policy | X | path | threads | ours (ms) | best peer (ms) | peer | ratio | bar | passes over X | times C2UCB |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    beside = beside_c2ucb(rows)
    for place, row in enumerate(rows):
        peer = row.get("best") or next(name for name in reversed(row["times"]) if name in row["case"])
        passes = f"{row['passes']:.2f}" if "passes" in row else ""
        lines.append(f"| {row['case']} | {row.get('policy', 'arm-wise-ts')} | {row.get('storage', 'f64')} | {row.get('kernel', '')} "
                     f"| {row.get('threads', 1)} | {row['times']['ours']['median'] * 1e3:.4g} "
                     f"| {row['times'][peer]['median'] * 1e3:.4g} | {peer} | {row['ratio']:.1f} | {row['bar'] or ''} | {passes} "
                     f"| {f'{beside[place]:.2f}' if place in beside else ''} |")
    return "\n".join(lines) + "\n"


def beside_c2ucb(rows):
    """The time of arm-wise TS in units of that of C2UCB on the same arms, by the place of its row."""
    key = lambda row: tuple(row.get(name) for name in ("case", "storage", "kernel", "threads"))
    bounds = {key(row): row["times"]["ours"]["median"] for row in rows if row.get("policy") == "c2ucb"}
    own = {place: row for place, row in enumerate(rows) if row.get("policy") == "arm-wise-ts" and key(row) in bounds}
    return {place: row["times"]["ours"]["median"] / bounds[key(row)] for place, row in own.items()}


def missed(rows):
    """What is not reached, as text."""
    where = lambda row: " ".join(str(row.get(key, "")) for key in ("case", "policy", "storage", "kernel", "threads"))
    for row in rows:
        if row["bar"] and row["ratio"] < row["bar"]:
            yield f"{where(row)}: {row['ratio']:.1f}x of {row['bar']}x"
        if row.get("most_passes") and row["passes"] > row["most_passes"]:
            yield f"{where(row)}: {row['passes']:.2f} passes, at most {row['most_passes']}"
    for place, times in beside_c2ucb(rows).items():
        if rows[place]["case"] in OF and times > DRAWS:
            yield f"{where(rows[place])}: {times:.2f} times c2ucb, at most {DRAWS}"


def save(rows):
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "choose.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    (RESULTS / "choose.md").write_text(table(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few small cases, no packages")
    parser.add_argument("--seconds", type=float, default=4, help="how long each case is repeated")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is not met")
    parser.add_argument("--only", help="cases whose name has this in it; nothing is written")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES, help="of --only, these")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    free_numpy()
    print(f"Choosing, medians in ms, numpy in its best form. {machine()}")
    all_ours = [Ours(kernel) for kernel in kernels()]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.quick:
            draws_case(all_ours, 0.2)
            print(HEAD)
            for case in CASES[:3]:
                choose_case(all_ours, folder, *case, 1, 0.2)
            catalogue_case(all_ours, folder, "20000 x 51 in 100 clusters", 20_000, 51, 100, 100, {"pc2ucb": None}, 1)
        else:
            rows = all_cases(all_ours, folder, options)
    for ours in all_ours:
        ours.close()
    short = list(missed(rows))
    for text in short:
        print(f"not met: {text}")
    if options.check and short:
        sys.exit(1)


def all_cases(all_ours, folder, options):
    """All rows, or those of `--only`."""
    wanted = lambda name: not options.only or options.only in name
    rows = []
    if wanted("normal numbers"):
        rows += draws_case(all_ours, options.seconds)
    print(HEAD)
    for threads in options.threads:
        for case in CASES + HARD:
            if wanted(case[0]):
                rows += choose_case(all_ours, folder, *case, threads, options.seconds, options.policies, hard=case in HARD)
        for *case, policies in CATALOGUES:
            if wanted(f"{case[0]}, catalogue"):
                policies = {policy: bar for policy, bar in policies.items() if policy in options.policies}
                rows += catalogue_case(all_ours, folder, *case, policies, threads)
        if threads == 1 and not options.only:
            rows += sampling_case(all_ours[0], folder, options.seconds)
            rows += packages_case(all_ours[0], folder, options.seconds)
        if not options.only:
            save(rows)
    return rows


if __name__ == "__main__":
    main()
