"""The library's algorithms as classes, made from its list of them: do not edit, run `make classes`.

Each has the parameters of its Rust namesake (`lam` is Rust's `lambda`), and:

- blocks: the number of promotions M; every block has a model of its own over the same features.
- seed: all randomness follows from it, from the round's number and from the arm's id; None takes one from the
  operating system and keeps it (`seed_`).
- ties: who wins among equal scores, "by-id" or "random" (a fair draw, new in every round).
- gamma: with every round, what was learned before counts gamma times as much; "auto" chooses it by evidence, anew in
  every round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .policy import Policy, Theory

__all__ = [
    "ALGORITHMS",
    "C2UCB",
    "PC2UCB",
    "ArmWiseTS",
    "CombLinTS",
    "CombLinUCB",
    "Greedy",
    "HallucinatedC2UCB",
    "Random",
    "RoundWiseTS",
]


class Greedy(Policy):
    """The estimate alone; random in the first round.

    score(i) = theta_hat' x(i)

    Parameters: lam above 0 or "auto".

    >>> import armwise as aw
    >>> policy = aw.Greedy()
    >>> policy
    Greedy(lam=1.0, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "greedy"

    def __init__(
        self,
        lam: float | str = 1.0,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class CombLinUCB(Policy):
    """Upper confidence bound of a Bayesian model.

    score(i) = theta_hat' x(i) + c sigma width(i), ridge sigma2 / lambda2

    Parameters: lambda2 above 0, sigma2 above 0, c at least 0.

    >>> import armwise as aw
    >>> policy = aw.CombLinUCB()
    >>> policy
    CombLinUCB(lambda2=0.01, sigma2=0.01, c=1.0, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "comblin-ucb"

    def __init__(
        self,
        lambda2: float = 0.01,
        sigma2: float = 0.01,
        c: float = 1.0,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lambda2 = lambda2
        self.sigma2 = sigma2
        self.c = c
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class CombLinTS(Policy):
    """Thompson sampling, one draw per round.

    score(i) = theta_tilde' x(i), theta_tilde ~ N(theta_hat, sigma2 V^-1), ridge sigma2 / lambda2

    Parameters: lambda2 above 0, sigma2 above 0.

    >>> import armwise as aw
    >>> policy = aw.CombLinTS()
    >>> policy
    CombLinTS(lambda2=0.01, sigma2=0.01, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "comblin-ts"

    def __init__(
        self,
        lambda2: float = 0.01,
        sigma2: float = 0.01,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lambda2 = lambda2
        self.sigma2 = sigma2
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class C2UCB(Policy):
    """Upper confidence bound.

    score(i) = theta_hat' x(i) + alpha_t width(i)

    Parameters: lam above 0 or "auto", alpha at least 0 or "auto" or a Theory.

    >>> import armwise as aw
    >>> policy = aw.C2UCB()
    >>> policy
    C2UCB(lam=1.0, alpha=0.1, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "c2ucb"

    def __init__(
        self,
        lam: float | str = 1.0,
        alpha: float | str | Theory = 0.1,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.alpha = alpha
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class PC2UCB(Policy):
    """Upper confidence bound, perturbed arm by arm.

    score(i) = theta_hat' x(i) + (1 + c U(i)) alpha_t width(i), U(i) ~ U[0, 1)

    Parameters: lam above 0 or "auto", alpha at least 0 or "auto" or a Theory, c at least 0.

    scope: who shares a draw, "own", "shared", {"mixed": 0.5}, {"group": column}, {"best-of": 10 or {"k": 100}}.

    >>> import armwise as aw
    >>> policy = aw.PC2UCB()
    >>> policy
    PC2UCB(lam=1.0, alpha=0.1, c=1.0, scope='own', blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "pc2ucb"
    _switches = ("scope",)

    def __init__(
        self,
        lam: float | str = 1.0,
        alpha: float | str | Theory = 0.1,
        c: float = 1.0,
        *,
        scope: str | Mapping[str, Any] = "own",
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.alpha = alpha
        self.c = c
        self.scope = scope
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class RoundWiseTS(Policy):
    """Thompson sampling, one draw per round.

    score(i) = theta_tilde' x(i), theta_tilde ~ N(theta_hat, v_t^2 V^-1)

    Parameters: lam above 0 or "auto", v at least 0 or "auto" or a Theory.

    >>> import armwise as aw
    >>> policy = aw.RoundWiseTS()
    >>> policy
    RoundWiseTS(lam=1.0, v=0.1, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "round-wise-ts"

    def __init__(
        self,
        lam: float | str = 1.0,
        v: float | str | Theory = 0.1,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.v = v
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class ArmWiseTS(Policy):
    """Thompson sampling, one draw per arm.

    score(i) = theta_hat' x(i) + v_t z(i) width(i), z(i) ~ N(0, 1)

    Parameters: lam above 0 or "auto", v at least 0 or "auto" or a Theory.

    scope: who shares a draw, "own", "shared", {"mixed": 0.5}, {"group": column}, {"best-of": 10 or {"k": 100}}.

    noise: "known", or "estimated": v is then a multiple of the noise, and draws have Student's law.

    >>> import armwise as aw
    >>> policy = aw.ArmWiseTS()
    >>> policy
    ArmWiseTS(lam=1.0, v=0.1, scope='own', noise='known', blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "arm-wise-ts"
    _switches = ("scope", "noise")

    def __init__(
        self,
        lam: float | str = 1.0,
        v: float | str | Theory = 0.1,
        *,
        scope: str | Mapping[str, Any] = "own",
        noise: str | Mapping[str, Any] = "known",
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.v = v
        self.scope = scope
        self.noise = noise
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class Random(Policy):
    """Uniform choice, the floor under every comparison.

    score(i) = U(i), U(i) ~ U[0, 1)

    Parameters: lam above 0 or "auto".

    >>> import armwise as aw
    >>> policy = aw.Random()
    >>> policy
    Random(lam=1.0, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "random"

    def __init__(
        self,
        lam: float | str = 1.0,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


class HallucinatedC2UCB(Policy):
    """Upper confidence bound, one arm after another, with widths that shrink.

    score(i) = theta_hat' x(i) + alpha_t width(i) + diversity / 2 ln(1 + length(i)^2), both under the rows taken before

    Parameters: lam above 0 or "auto", alpha at least 0 or "auto" or a Theory, diversity at least 0.

    >>> import armwise as aw
    >>> policy = aw.HallucinatedC2UCB()
    >>> policy
    HallucinatedC2UCB(lam=1.0, alpha=0.1, diversity=0.0, blocks=1, seed=0, ties='by-id', gamma=1.0)
    >>> len(policy.choose([[1.0, 0.0], [0.0, 1.0]], k=1))
    1
    """

    name = "hallucinated-c2ucb"

    def __init__(
        self,
        lam: float | str = 1.0,
        alpha: float | str | Theory = 0.1,
        diversity: float = 0.0,
        *,
        blocks: int = 1,
        seed: int | None = 0,
        ties: str = "by-id",
        gamma: float | str = 1.0,
    ) -> None:
        self.lam = lam
        self.alpha = alpha
        self.diversity = diversity
        self.blocks, self.seed, self.ties, self.gamma = blocks, seed, ties, gamma
        self._check()


#: The algorithms by their name in Rust, TOML and JSON, in the order of every list and figure.
ALGORITHMS: dict[str, type[Policy]] = {
    "greedy": Greedy,
    "comblin-ucb": CombLinUCB,
    "comblin-ts": CombLinTS,
    "c2ucb": C2UCB,
    "pc2ucb": PC2UCB,
    "round-wise-ts": RoundWiseTS,
    "arm-wise-ts": ArmWiseTS,
    "random": Random,
    "hallucinated-c2ucb": HallucinatedC2UCB,
}
