"""The algorithms of the paper. Each has the parameters of its Rust namesake (`lam` is Rust's `lambda`), and:

- blocks: the number of promotions M; every block has a model of its own over the same features.
- seed: all randomness follows from it, from the round's number and from the arm's id.
- ties: who wins among equal scores, "by-id" or "random" (a fair draw, new in every round).
- gamma: with every round, what was learned before counts gamma times as much.
"""

from __future__ import annotations

import json
import os
from typing import Any

from . import _armwise
from .policy import Policy, Theory


class Greedy(Policy):
    """Takes the arms that look best; while nothing is known, draws.

    score(i) = theta_hat' x(i)

    >>> import armwise as aw
    >>> aw.Greedy(lam=1.0)
    Greedy(lam=1.0, blocks=1, seed=0, ties='by-id', gamma=1.0)
    """

    name = "greedy"

    def __init__(
        self, lam: float = 1.0, *, blocks: int = 1, seed: int = 0, ties: str = "by-id", gamma: float = 1.0
    ) -> None:
        self.lam = lam
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class CombLinUCB(Policy):
    """The upper confidence bound of a Bayesian linear model with prior variance lambda2 and noise variance sigma2.

    score(i) = theta_hat' x(i) + c sigma width(i), with ridge sigma2 / lambda2

    >>> import armwise as aw
    >>> aw.CombLinUCB(c=0.5).choose([[1.0], [2.0]], k=1).rows
    array([1])
    """

    name = "comblin-ucb"

    def __init__(
        self,
        lambda2: float = 1.0,
        sigma2: float = 1.0,
        c: float = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lambda2, self.sigma2, self.c = lambda2, sigma2, c
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class CombLinTS(Policy):
    """Thompson sampling from a Bayesian linear model, one draw of theta for all arms of a round.

    score(i) = theta_tilde' x(i), theta_tilde ~ N(theta_hat, sigma2 V^-1), with ridge sigma2 / lambda2

    >>> import armwise as aw
    >>> len(aw.CombLinTS(seed=1).choose([[1.0], [2.0]], k=1))
    1
    """

    name = "comblin-ts"

    def __init__(
        self,
        lambda2: float = 1.0,
        sigma2: float = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lambda2, self.sigma2 = lambda2, sigma2
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class C2UCB(Policy):
    """The upper confidence bound: Algorithm 1, single box.

    score(i) = theta_hat' x(i) + alpha_t width(i)

    >>> import armwise as aw
    >>> aw.C2UCB(alpha=0.5).choose([[1.0], [2.0]], k=1).scores
    array([1.])
    """

    name = "c2ucb"

    def __init__(
        self,
        lam: float = 1.0,
        alpha: float | Theory = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lam, self.alpha = lam, alpha
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class PC2UCB(Policy):
    """C2UCB with an own random stretch of each arm's bonus: Algorithm 1, double box.

    score(i) = theta_hat' x(i) + (1 + c U(i)) alpha_t width(i), U(i) uniform in [0, 1)

    >>> import armwise as aw
    >>> aw.PC2UCB(alpha=aw.Theory(r=1.0, s=1.0, delta=0.1, k=1)).choose([[1.0], [2.0]], k=1).rows
    array([1])
    """

    name = "pc2ucb"

    def __init__(
        self,
        lam: float = 1.0,
        alpha: float | Theory = 1.0,
        c: float = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lam, self.alpha, self.c = lam, alpha, c
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class RoundWiseTS(Policy):
    """Thompson sampling with one draw of theta for all arms of a round: Algorithm 2, single box.

    score(i) = theta_tilde' x(i), theta_tilde ~ N(theta_hat, v_t^2 V^-1)

    >>> import armwise as aw
    >>> len(aw.RoundWiseTS(v=0.1, seed=1).choose([[1.0], [2.0]], k=1))
    1
    """

    name = "round-wise-ts"

    def __init__(
        self,
        lam: float = 1.0,
        v: float | Theory = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lam, self.v = lam, v
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class ArmWiseTS(Policy):
    """Thompson sampling with an own draw of theta for every arm: Algorithm 2, double box.

    score(i) = theta_hat' x(i) + v_t z(i) width(i), z(i) standard normal

    >>> import armwise as aw
    >>> policy = aw.ArmWiseTS(lam=1.0, v=0.1, seed=0)
    >>> policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1).t
    1
    """

    name = "arm-wise-ts"

    def __init__(
        self,
        lam: float = 1.0,
        v: float | Theory = 1.0,
        *,
        blocks: int = 1,
        seed: int = 0,
        ties: str = "by-id",
        gamma: float = 1.0,
    ) -> None:
        self.lam, self.v = lam, v
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class Random(Policy):
    """Chooses at random; it still learns, so its decisions carry means and widths.

    score(i) uniform in [0, 1)

    >>> import armwise as aw
    >>> len(aw.Random(seed=1).choose([[1.0], [2.0], [3.0]], k=2))
    2
    """

    name = "random"

    def __init__(
        self, lam: float = 1.0, *, blocks: int = 1, seed: int = 0, ties: str = "by-id", gamma: float = 1.0
    ) -> None:
        self.lam = lam
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


#: The algorithms by their name in Rust, TOML and JSON, in the paper's order.
ALGORITHMS: dict[str, type[Policy]] = {
    str(policy.name): policy
    for policy in (Greedy, CombLinUCB, CombLinTS, C2UCB, PC2UCB, RoundWiseTS, ArmWiseTS, Random)
}


def _from_spec(text: str) -> Policy:
    spec: dict[str, Any] = json.loads(text)
    name = spec.pop("name")
    if name not in ALGORITHMS:
        raise ValueError("the file holds a policy of your own; make it and call its restore(path)")
    params = {
        "lam" if key == "lambda" else key: Theory(**value) if isinstance(value, dict) else value
        for key, value in spec.items()
    }
    return ALGORITHMS[name](**params)


def load(path: str | os.PathLike[str]) -> Policy:
    """The policy that `save` wrote, or that Rust did: it chooses the same to the bit.

    A file written by Rust has no seed and no round to go on with; then the seed is 0 and the round is the one after
    the newest that was learned from. Set `seed` and `t_` where that is not what you want.

    >>> import armwise as aw, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "p.json")
    >>> aw.C2UCB(alpha=0.5).partial_fit([[1.0]], [1.0]).save(path)
    >>> aw.load(path).theta_
    array([0.5])
    """
    with open(path, encoding="utf-8") as file:
        learner, next_ = _armwise.Learner.from_json(file.read())
    policy = _from_spec(learner.policy)
    policy.ties = learner.ties
    policy._adopt(learner, next_)
    return policy
