"""Which default parameters are good on clicks: policies on simulated requests of the Open Bandit sample.

    pip download --no-deps obp && unzip obp-*.whl 'obp/dataset/obd/*'
    python bench/clicks.py obp/dataset/obd

The sample's logs have too few clicks (38 in 10,000) to replay by rejection. So the true click rate of an item is its
rate in the uniform and in the Bernoulli-TS log together, shrunk towards the mean by the amount that chance explains
(the beta prior with the log's own mean and variance), and a request with an affinity for an item clicks twice as
often. Each request shows 3 of the items; a policy sees the items' features and the affinities, and learns from the
clicks. What is printed is the mean of the true rates of what was shown, in clicks per 10,000.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import armwise as aw

REQUESTS, SHOWN, SEEDS = 30_000, 3, 3


def log(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def world(root: Path, part: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of the items, their click rates, and the affinities of logged requests for them."""
    items = sorted(log(root / "random" / part / "item_context.csv"), key=lambda item: int(item["item_id"]))
    rows = [row for policy in ("random", "bts") for row in log(root / policy / part / f"{part}.csv")]
    shown = np.zeros(len(items))
    clicks = np.zeros(len(items))
    for row in rows:
        shown[int(row["item_id"])] += 1
        clicks[int(row["item_id"])] += int(row["click"])
    mean = clicks.sum() / shown.sum()
    chance = mean / shown.mean()
    weight = mean / max(np.var(clicks / shown.clip(1)) - chance, 0.1 * chance)
    rates = (clicks + weight * mean) / (shown + weight)
    columns = [[float(item["item_feature_0"]) for item in items]]
    for name in ("item_feature_1", "item_feature_2", "item_feature_3"):
        values = [item[name] for item in items]
        columns += [[float(value == kind) for value in values] for kind in sorted(set(values))]
    x = np.column_stack([np.ones(len(items)), *columns])
    affinities = np.array([[float(row[f"user-item_affinity_{i}"]) for i in range(len(items))] for row in rows[:2_000]])
    return x / np.linalg.norm(x, axis=1).mean(), rates, affinities.clip(0.0, 1.0)


def play(policy: aw.Policy, x: np.ndarray, rates: np.ndarray, affinities: np.ndarray, seed: int) -> float:
    random = np.random.default_rng(seed)
    total = 0.0
    for _ in range(REQUESTS):
        affinity = affinities[random.integers(len(affinities))]
        true = rates * (1.0 + affinity)
        luck = random.random(len(rates))
        decision = policy.choose(np.column_stack([x, affinity]), k=SHOWN)
        shown = np.asarray(decision.ids, dtype=int)
        total += true[shown].mean()
        policy.learn(decision, (luck[shown] < true[shown]).astype(float))
    return 1e4 * total / REQUESTS


def main() -> None:
    for part in sys.argv[2:] or ["men", "women"]:
        x, rates, affinities = world(Path(sys.argv[1]), part)
        print(f"{part}: {x.shape[0]} items x {x.shape[1] + 1}, rates {1e4 * rates.min():.0f} to {1e4 * rates.max():.0f}")
        for width in (0.01, 0.03, 0.1, 0.3, 1.0):
            line = f"{width:5}"
            for make in (aw.ArmWiseTS, aw.RoundWiseTS, aw.C2UCB, aw.PC2UCB):
                name = "v" if make in (aw.ArmWiseTS, aw.RoundWiseTS) else "alpha"
                found = [
                    play(make(**{name: width}, seed=seed), x, rates, affinities, seed) for seed in range(SEEDS)
                ]
                error = np.std(found, ddof=1) / len(found) ** 0.5
                line += f"   {make.__name__} {np.mean(found):5.1f} +-{error:.1f}"
            print(line, flush=True)
        for make in (aw.Greedy, aw.Random):
            found = [play(make(seed=seed), x, rates, affinities, seed) for seed in range(SEEDS)]
            print(f"        {make.__name__} {np.mean(found):5.1f}", flush=True)


if __name__ == "__main__":
    main()
