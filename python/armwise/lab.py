"""The laboratory: the paper's two problems, and policies playing them on the same rounds.

A study of `armwise simulate` has more: `kind = "two-sets"`, and clusters whose theta turns (`turn`). Here they are an
`Environment` of one's own.

>>> import armwise as aw
>>> problem = aw.lab.clustered(angle=1.2, d=5, n=400, k=20, rounds=5)
>>> results = aw.lab.run(problem, [aw.C2UCB(alpha=0.1), aw.ArmWiseTS(v=0.1)], trials=20)
>>> [row["policy"] for row in results.summary()]
['C2UCB(lam=1.0, alpha=0.1)', 'ArmWiseTS(lam=1.0, v=0.1)']
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise
from ._arms import vector
from .constraints import AnyConstraint, Assignment, Constraint, TopK
from .decision import Decision
from .policy import Policy
from .results import Results

__all__ = ["Environment", "Problem", "Results", "Trial", "clustered", "promotions", "run"]


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


class Environment:
    """A problem of your own: derive from this class and give the class itself to `run`.

    Every trial of every policy makes one with the trial's seed, so that each starts afresh. `arms` and `rewards` are
    required. If all that is random is drawn from the seed alone, before anything is chosen, the policies meet the same
    potential rewards and their differences are paired. With `expected` and `best`, regret is known, too.

    >>> import armwise as aw, numpy as np
    >>> class Shop(aw.lab.Environment):
    ...     rounds, constraint = 10, aw.TopK(2)
    ...     def __init__(self, seed):
    ...         self.rng = np.random.default_rng(seed)
    ...         self.theta = self.rng.normal(size=3)
    ...     def arms(self, t):
    ...         self.x = self.rng.normal(size=(50, 3))
    ...         self.noise = self.rng.normal(size=50)
    ...         return self.x
    ...     def rewards(self, decision):
    ...         return self.x[decision.rows] @ self.theta + self.noise[decision.rows]
    >>> results = aw.lab.run(Shop, {"greedy": aw.Greedy(), "random": aw.Random()}, trials=10)
    >>> results.differences("random")[0]["reward_low"] > 0
    True
    """

    #: The number of rounds.
    rounds: int = 10
    #: What may be chosen together, as in `choose`.
    constraint: AnyConstraint
    #: The number of blocks M.
    blocks: int = 1

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def arms(self, t: int) -> Any:
        """The arms of round t, from 1: X, or X and a dictionary of other arguments of `choose`."""
        raise NotImplementedError(f"{type(self).__name__} must say which arms(t) there are")

    def rewards(self, decision: Decision) -> ArrayLike:
        """The rewards of the chosen arms, in the order of the decision."""
        raise NotImplementedError(f"{type(self).__name__} must say which rewards(decision) are paid")

    def expected(self, decision: Decision) -> ArrayLike | None:
        """The expected rewards of the chosen arms, where they are known."""
        return None

    def best(self, t: int) -> float | None:
        """The expected reward of the best super arm of round t, where it is known."""
        return None


def _label(policy: Policy) -> str:
    usual = {name: given.default for name, given in inspect.signature(type(policy).__init__).parameters.items()}
    # Switches are said only where they are not as usual.
    hidden = {"blocks", "seed", "ties", "gamma"}
    hidden |= {name for name in policy._switches if getattr(policy, name) == usual[name]}
    shown = {n: v for n, v in policy.get_params(deep=False).items() if n not in hidden}
    ties = "" if policy.ties == "by-id" else f", ties={policy.ties!r}"
    gamma = "" if policy.gamma == 1.0 else f", gamma={policy.gamma!r}"
    return f"{type(policy).__name__}({', '.join(f'{n}={v!r}' for n, v in shown.items())}{ties}{gamma})"


def _named(policies: Policy | Sequence[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    """The policies by name; equal ones without names of their own are counted."""
    if isinstance(policies, Mapping):
        named = {str(name): policy for name, policy in policies.items()}
    else:
        named = {}
        for policy in [policies] if isinstance(policies, Policy) else policies:
            label, count = _label(policy), 1
            while label in named:
                count += 1
                label = f"{_label(policy)} #{count}"
            named[label] = policy
    if not named:
        raise ValueError("give at least one policy")
    return named


def run(
    problem: Problem | Callable[[int], Environment],
    policies: Policy | Sequence[Policy] | Mapping[str, Policy],
    *,
    trials: int = 100,
    seed: int = 1,
    delay: int = 0,
    batch: int = 1,
    threads: int | None = None,
) -> Results:
    """Plays `trials` trials with each policy, which starts afresh in every trial; Ctrl-C stops it.

    The problem is one of this module's, or an `Environment` of your own: its class, or a function that makes one from a
    seed. Policies may be given by name, `{"mine": policy}`; otherwise they are named by their parameters.

    Only the parameters of a policy count, not what it has learned; the seed is the trial's. Rewards come `delay` rounds
    late and are learned after every `batch` rounds. The numbers do not depend on the number of threads. The library's
    algorithms play this module's problems in Rust on all threads; a policy or an environment written in Python is
    played in Python, one trial at a time.
    """
    named = _named(policies)
    if trials < 1 or batch < 1 or delay < 0:
        raise ValueError("there must be at least 1 trial, a batch of at least 1 and a delay of at least 0")
    players = list(named.values())
    seeds = _armwise.Problem.trial_seeds(seed, trials)
    if not isinstance(problem, Problem):
        return _run_own(problem, named, seeds, delay, batch)
    native = [place for place, policy in enumerate(players) if policy.name is not None]
    specs = [(players[place]._spec(), players[place].ties, players[place]._given_gamma()) for place in native]
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
            continue
        for number, trial_seed in enumerate(seeds):
            trial = problem.trial(trial_seed, number)
            rounds = _play(trial, problem.rounds, problem.constraint, problem.blocks, policy, trial_seed, delay, batch)
            reward, expected, best = rounds
            merged["reward"][place, number] = reward
            merged["regret"][place, number] = best - expected
            merged["best"][number] = best
    return Results(list(named), problem._native.splits, merged)


class _Own:
    """An environment of the user's as a trial."""

    def __init__(self, make: Callable[[int], Environment], seed: int) -> None:
        self.of = make(seed)
        if not hasattr(self.of, "constraint"):
            raise TypeError(f"{type(self.of).__name__} must have a constraint, such as armwise.TopK(10)")

    def arms(self, t: int) -> Any:
        return self.of.arms(t)

    def best(self, t: int) -> float:
        best = self.of.best(t)
        return math.nan if best is None else float(best)

    def pay(self, decision: Decision) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        expected = self.of.expected(decision)
        unknown = np.full(len(decision), np.nan)
        known = unknown if expected is None else self._checked("expected", expected, decision)
        return self._checked("rewards", self.of.rewards(decision), decision), known

    def _checked(self, what: str, given: ArrayLike, decision: Decision) -> NDArray[np.float64]:
        values = vector(given, what)
        if len(values) != len(decision):
            name = f"{type(self.of).__name__}.{what}"
            raise ValueError(f"{name} gave {len(values)} numbers for {len(decision)} chosen arms in round {decision.t}")
        return values


def _run_own(
    make: Callable[[int], Environment], named: dict[str, Policy], seeds: list[int], delay: int, batch: int
) -> Results:
    """Plays an environment of the user's."""
    if not callable(make):
        raise TypeError(
            f"run takes a problem of armwise.lab, or the class of an environment, not {type(make).__name__}: "
            "a trial makes its own from the trial's seed"
        )
    played = []
    for policy in named.values():
        for seed in seeds:
            trial = _Own(make, seed)
            own = trial.of
            played.append(_play(trial, own.rounds, own.constraint, own.blocks, policy, seed, delay, batch))
    if len({len(reward) for reward, _, _ in played}) > 1:
        raise ValueError("the number of rounds of an environment must not depend on the seed")
    shape = (len(named), len(seeds), -1)
    reward, expected, best = (np.array([rounds[part] for rounds in played]).reshape(shape) for part in range(3))
    arrays = {"reward": reward}
    if not np.isnan(best).any():
        arrays["best"] = best[0]
        if not np.isnan(expected).any():
            arrays["regret"] = best - expected
    return Results(list(named), 1, arrays)


def _play(
    trial: Trial | _Own,
    rounds: int,
    constraint: AnyConstraint,
    blocks: int,
    policy: Policy,
    seed: int,
    delay: int,
    batch: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Plays one policy in Python: rewards, expected rewards and the best of each round."""
    player = policy._fresh()
    player.seed, player.blocks = seed, blocks
    waiting: list[tuple[Decision, NDArray[np.float64]]] = []
    reward, expected, best = np.empty(rounds), np.empty(rounds), np.empty(rounds)
    for t in range(1, rounds + 1):
        given = trial.arms(t)
        x, others = given if isinstance(given, tuple) else (given, {})
        decision = player.choose(x, constraint=constraint, **others)
        paid, known = trial.pay(decision)
        reward[t - 1], expected[t - 1], best[t - 1] = paid.sum(), known.sum(), trial.best(t)
        waiting.append((decision, paid))
        if t % batch == 0:
            due = [pair for pair in waiting if pair[0].t <= t - delay]
            for pair in due:
                player.learn(*pair)
            waiting = waiting[len(due) :]
    return reward, expected, best
