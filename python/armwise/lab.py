"""The laboratory: the paper's two problems, and policies playing them on the same rounds.

>>> import armwise as aw
>>> problem = aw.lab.clustered(angle=1.2, d=5, n=400, k=20, rounds=5)
>>> results = aw.lab.run(problem, [aw.C2UCB(alpha=0.1), aw.ArmWiseTS(v=0.1)], trials=20)
>>> [row["policy"] for row in results.summary()]
['C2UCB(lam=1.0, alpha=0.1)', 'ArmWiseTS(lam=1.0, v=0.1)']
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _armwise
from .constraints import Assignment, Constraint, TopK
from .decision import Decision
from .policy import Policy

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Problem:
    """What is chosen from, under which constraint, and what it pays; made by `clustered` or `promotions`."""

    def __init__(self, native: _armwise.Problem, constraint: Constraint, text: str) -> None:
        self._native, self._text = native, text
        self.d, self.blocks, self.n, self.rounds, self.clusters = native.sizes
        #: What may be chosen together.
        self.constraint = constraint

    def __repr__(self) -> str:
        return self._text

    def trial(self, seed: int, number: int = 0) -> Trial:
        """A trial, to be played by hand.

        >>> import armwise as aw
        >>> trial = aw.lab.clustered(d=5, n=40, k=4, rounds=3).trial(seed=1)
        >>> policy = aw.ArmWiseTS(v=0.1, seed=1)
        >>> for t in range(1, 4):
        ...     d = policy.choose(trial.arms(t), constraint=trial.problem.constraint)
        ...     policy.learn(d, trial.pay(d)[0])
        >>> policy.count_
        12
        """
        return Trial(self, seed, number)


class Trial:
    """One run of a problem: everything random in it follows from its seed."""

    def __init__(self, problem: Problem, seed: int, number: int) -> None:
        self.problem, self.seed, self.number = problem, seed, number
        self._scenes: dict[int, tuple[NDArray[np.float64], float]] = {}

    def _scene(self, t: int) -> tuple[NDArray[np.float64], float]:
        if t not in self._scenes:
            self._scenes = {t: self.problem._native.scene(self.seed, self.number, t)}
        return self._scenes[t]

    def arms(self, t: int) -> NDArray[np.float64]:
        """The features of round t, from 1."""
        return self._scene(t)[0]

    def best(self, t: int) -> float:
        """The expected reward of the best super arm of round t."""
        return self._scene(t)[1]

    def pay(self, decision: Decision) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The rewards of the chosen arms, and their expected rewards."""
        arms = list(zip(decision.rows.tolist(), decision.blocks.tolist(), strict=True))
        return self.problem._native.pay(self.seed, self.number, decision.t, arms)


def clustered(
    angle: float = math.pi / 2,
    *,
    d: int = 11,
    n: int = 2000,
    k: int = 100,
    rounds: int = 10,
    order: str = "by-cluster",
    spread: float = 0.0,
) -> Problem:
    """The artificial clustered case (section VII-A1): d - 1 clusters of similar arms, at `angle` to a common direction.

    order is "by-cluster" or "shuffled"; spread is how far arms stray from their cluster's centre.

    >>> import armwise as aw
    >>> aw.lab.clustered(angle=0.5)
    clustered(angle=0.5, d=11, n=2000, k=100, rounds=10, order='by-cluster', spread=0.0)
    """
    native = _armwise.Problem.clustered(angle, d, n, k, rounds, order, spread)
    text = f"clustered(angle={angle}, d={d}, n={n}, k={k}, rounds={rounds}, order={order!r}, spread={spread})"
    return Problem(native, TopK(k), text)


def promotions(
    ratings: str | os.PathLike[str] | None = None,
    *,
    promotions: int = 10,
    k: int = 50,
    n: int | None = None,
    rounds: int = 20,
    reading: str = "independent",
    features: str = "svd",
    splits: int = 1,
    seed: int = 1,
    generated: tuple[int, int, int] = (30_000, 8_000, 3_000_000),
) -> Problem:
    """The sending promotion problem (section VII-A2) on MovieLens ratings: ratings.csv, ratings.dat or the zip.

    Without a file, ratings are generated; `generated` gives the numbers of users, movies and ratings. Every round each
    promotion goes to k of n customers (100 k, unless given); with reading="disjoint" a customer gets at most one.
    features is "svd", "svd-normalised", "als" or "als-normalised". Trial i is played on split i modulo `splits` of the
    movies.

    >>> import armwise as aw
    >>> problem = aw.lab.promotions(promotions=3, k=5, n=100, rounds=2, generated=(500, 300, 10_000))
    >>> problem.d, problem.blocks
    (51, 3)
    """
    customers = 100 * k if n is None else n
    path = None if ratings is None else os.fspath(ratings)
    native = _armwise.Problem.promotions(
        path, generated, features, reading, promotions, k, customers, rounds, splits, seed
    )
    per_row = promotions if reading == "independent" else 1
    text = (
        f"promotions(ratings={path!r}, promotions={promotions}, k={k}, n={customers}, rounds={rounds}, "
        f"reading={reading!r}, features={features!r}, splits={splits}, seed={seed})"
    )
    return Problem(native, Assignment(quotas=[k] * promotions, per_row=per_row), text)


class Results:
    """What policies did: arrays of shape (policies, trials, rounds).

    All policies meet the same rounds and the same potential rewards, so differences between them are paired.
    """

    def __init__(self, policies: list[str], splits: int, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        self.policies, self._splits = policies, splits
        #: Rewards of each round.
        self.reward = arrays["reward"]
        #: Expected reward of the best super arm less that of the chosen one.
        self.regret = arrays["regret"]
        #: Clusters touched in each round, where the problem has clusters.
        self.clusters = arrays.get("clusters")
        #: Expected reward of the best super arm, of shape (trials, rounds).
        self.best = arrays["best"]

    def _columns(self) -> dict[str, Any]:
        count, trials, rounds = self.reward.shape
        policy, trial, t = np.indices((count, trials, rounds)).reshape(3, -1)
        columns: dict[str, Any] = {
            "policy": [self.policies[place] for place in policy],
            "trial": trial.astype(np.int64),
            "t": (t + 1).astype(np.int64),
            "reward": self.reward.reshape(-1),
            "regret": self.regret.reshape(-1),
        }
        if self.clusters is not None:
            columns["clusters"] = self.clusters.reshape(-1)
        return columns

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """One row per policy, trial and round: `pyarrow.table(results)`, `polars.DataFrame(results)`, DuckDB."""
        return _armwise.export(list(self._columns().items()))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table with one row per policy, trial and round."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with one row per policy, trial and round."""
        import pandas

        return pandas.DataFrame(self._columns())

    def summary(self) -> list[dict[str, Any]]:
        """Cumulative reward and regret of each policy: means, and standard errors (None for a single trial)."""
        rows = []
        for policy, reward, regret in zip(self.policies, self.reward, self.regret, strict=True):
            reward_mean, reward_se = _armwise.mean(reward.sum(axis=1).tolist(), self._splits)
            regret_mean, regret_se = _armwise.mean(regret.sum(axis=1).tolist(), self._splits)
            rows.append(
                {
                    "policy": policy,
                    "trials": len(reward),
                    "reward": reward_mean,
                    "reward_se": reward_se,
                    "regret": regret_mean,
                    "regret_se": regret_se,
                }
            )
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Cumulative regret by round with a band of two standard errors; needs matplotlib (`armwise[plot]`)."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        rounds = np.arange(1, self.regret.shape[2] + 1)
        for policy, regret in zip(self.policies, self.regret.cumsum(axis=2), strict=True):
            each = [_armwise.mean(trials.tolist(), self._splits) for trials in regret.T]
            mean = np.array([mean for mean, _ in each])
            margin = 2 * np.array([0.0 if se is None else se for _, se in each])
            (line,) = axes.plot(rounds, mean, label=policy)
            axes.fill_between(rounds, mean - margin, mean + margin, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set_xlabel("round")
        axes.set_ylabel("cumulative regret")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        count, trials, rounds = self.reward.shape
        return f"Results(policies={count}, trials={trials}, rounds={rounds})"


def _label(policy: Policy) -> str:
    shown = {n: v for n, v in policy.get_params(deep=False).items() if n not in ("blocks", "seed", "ties", "gamma")}
    ties = "" if policy.ties == "by-id" else f", ties={policy.ties!r}"
    return f"{type(policy).__name__}({', '.join(f'{n}={v!r}' for n, v in shown.items())}{ties})"


def run(
    problem: Problem,
    policies: Policy | Sequence[Policy],
    *,
    trials: int = 100,
    seed: int = 1,
    delay: int = 0,
    batch: int = 1,
    threads: int | None = None,
) -> Results:
    """Plays `trials` trials with each policy, which starts afresh in every trial; Ctrl-C stops it.

    Only the parameters of a policy count, not what it has learned; the seed is the trial's. Rewards come `delay` rounds
    late and are learned after every `batch` rounds. The numbers do not depend on the number of threads. The library's
    algorithms play in Rust on all threads; a policy written in Python is played in Python, one trial at a time.
    """
    players = [policies] if isinstance(policies, Policy) else list(policies)
    if not players:
        raise ValueError("give at least one policy")
    for policy in players:
        if policy.gamma != 1.0:
            raise ValueError("the lab plays without forgetting: gamma must be 1")
    native = [place for place, policy in enumerate(players) if policy.name is not None]
    specs = [(players[place]._spec(), players[place].ties) for place in native]
    played: dict[str, NDArray[np.float64]] = {}
    if native:
        played = problem._native.run(specs, trials, seed, delay, batch, threads)
    shape = (len(players), trials, problem.rounds)
    merged = {"reward": np.empty(shape), "regret": np.empty(shape), "best": np.empty(shape[1:])}
    if problem.clusters and len(native) == len(players):
        merged["clusters"] = played["clusters"]
    for place, policy in enumerate(players):
        if place in native:
            merged["reward"][place] = played["reward"][native.index(place)]
            merged["regret"][place] = played["regret"][native.index(place)]
            merged["best"][:] = played["best"]
        else:
            _play(problem, policy, place, merged, trials, seed, delay, batch)
    return Results([_label(policy) for policy in players], problem._native.splits, merged)


def _play(
    problem: Problem,
    policy: Policy,
    place: int,
    into: dict[str, NDArray[np.float64]],
    trials: int,
    seed: int,
    delay: int,
    batch: int,
) -> None:
    """Plays one policy in Python."""
    for number, trial_seed in enumerate(_armwise.Problem.trial_seeds(seed, trials)):
        trial = problem.trial(trial_seed, number)
        player = copy.copy(policy)
        player._learner, player.t_ = None, 1
        player.seed, player.blocks = trial_seed, problem.blocks
        waiting: list[tuple[Decision, NDArray[np.float64]]] = []
        for t in range(1, problem.rounds + 1):
            decision = player.choose(trial.arms(t), constraint=problem.constraint)
            rewards, expected = trial.pay(decision)
            into["reward"][place, number, t - 1] = rewards.sum()
            into["regret"][place, number, t - 1] = trial.best(t) - expected.sum()
            into["best"][number, t - 1] = trial.best(t)
            waiting.append((decision, rewards))
            if t % batch == 0:
                due = [pair for pair in waiting if pair[0].t <= t - delay]
                for pair in due:
                    player.learn(*pair)
                waiting = waiting[len(due) :]
