"""What several tests share. The tests run against the installed wheel, never against the sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import armwise as aw

ROOT = Path(__file__).parents[2]


def every_policy(**common: object) -> list[aw.Policy]:
    """One of each algorithm that scores every arm by itself, with parameters that are not the defaults: those of
    `examples/replay.rs`."""
    values = {"lam": 0.7, "lambda2": 0.5, "sigma2": 0.25, "alpha": 0.3, "v": 0.3}
    own = {"comblin-ucb": {"c": 1.5}, "pc2ucb": {"c": 0.9}}
    policies = []
    for name, policy in aw.ALGORITHMS.items():
        if name == "hallucinated-c2ucb":
            continue
        given = values | own.get(name, {})
        policies.append(policy(**{key: given[key] for key in policy._parameters() if key in given}, **common))
    return policies


def trained(policy: aw.Policy, rounds: int = 3, n: int = 40, d: int = 5, k: int = 6) -> aw.Policy:
    """The policy after some rounds."""
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        decision = policy.choose(rng.normal(size=(n, d)), k=k)
        policy.learn(decision, rng.normal(size=k))
    return policy


def state(policy: aw.Policy) -> str:
    """Everything that was learned, to the bit."""
    return policy._ready().to_json(0, 0)


@pytest.fixture(scope="session")
def replay() -> Path:
    """The Rust program that plays the scripted run."""
    program = ROOT / "target" / "release" / "examples" / "replay"
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--workspace", "--example", "replay"]
    subprocess.run(command, cwd=ROOT, check=True)
    return program
