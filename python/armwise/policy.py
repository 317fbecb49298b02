"""The base of all policies, and of those you write yourself."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arms, _armwise, _html, _offered, _sparse
from ._armwise import Context
from ._parameters import Parameters
from .constraints import AnyConstraint, resolve
from .decision import Decision

Self = TypeVar("Self", bound="Policy")

# Guards the round counter and the creation of a policy's learner; held only briefly.
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Theory:
    """alpha_t or v_t by the theory's beta_t(delta), in place of a number.

    r bounds the noise, s bounds |theta*|, delta is the probability with which the bound may fail, k the arms of a
    round; Thompson sampling needs the number of rounds, arm-wise Thompson sampling also the number n of arms.
    """

    r: float
    s: float
    delta: float
    k: int
    n: int | None = None
    rounds: int | None = None


class Policy(Parameters):
    """What every policy can do. To write your own, derive from this class and override `direction`, `bonus` or both:
    the score of arm i is `direction . x(i) + bonus(i)`.

    A custom policy, epsilon-greedy by arm, which gives a random share of the arms an optimistic bonus:

    >>> import armwise as aw, numpy as np
    >>> class EpsilonGreedy(aw.Policy):
    ...     draw = "uniform"                                    # each arm's own random number, or "normal", or None
    ...     def __init__(self, lam=1.0, epsilon=0.1, *, blocks=1, seed=0):
    ...         self.lam, self.epsilon, self.blocks, self.seed = lam, epsilon, blocks, seed
    ...     def bonus(self, at, width, draw):                   # arrays: one element per arm
    ...         return np.where(draw < self.epsilon, 1.0, 0.0)
    >>> policy = EpsilonGreedy(epsilon=0.2, seed=3)
    >>> policy.choose(np.eye(4), k=2)
    Decision(t=1, arms=2, objective=2, status='optimal')

    Parameters are attributes of the same name, as scikit-learn requires: `get_params`, `set_params` and `clone` work.
    """

    #: The kind of random number that each arm gets: None, "uniform" in [0, 1), or "normal".
    draw: ClassVar[str | None] = None
    #: The algorithm's name in Rust, TOML and JSON; None for a policy of your own.
    name: ClassVar[str | None] = None

    # Common parameters, for policies that leave one out of their constructor.
    lam: float = 1.0
    blocks: int = 1
    seed: int = 0
    ties: str = "by-id"
    gamma: float = 1.0

    _learner: _armwise.Learner | None = None
    #: The number of the round that comes next, from 1.
    t_: int = 1

    # What a policy of your own overrides.

    def direction(self, at: Context) -> ArrayLike:
        """The vector that is multiplied with x, for the block `at.block`: theta_hat, unless overridden."""
        return at.theta_hat

    def bonus(self, at: Context, width: NDArray[np.float64], draw: NDArray[np.float64] | None) -> ArrayLike:
        """What is added for each arm, given all widths and draws: nothing, unless overridden."""
        return np.zeros_like(width)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is not None and (cls.direction is not Policy.direction or cls.bonus is not Policy.bonus):
            raise TypeError(f"{cls.__name__} overrides direction or bonus: derive it from armwise.Policy itself")

    @property
    def _adds_bonus(self) -> bool:
        return type(self).bonus is not Policy.bonus

    def _spec(self) -> str:
        """The policy as JSON."""
        if self.name is None:
            return json.dumps({"name": "own", "lambda": self.lam})
        given = self.get_params(deep=False)
        for common in ("blocks", "seed", "ties", "gamma"):
            given.pop(common)
        plain = {
            "lambda" if name == "lam" else name: _without_none(value) if isinstance(value, Theory) else value
            for name, value in given.items()
        }
        try:
            return json.dumps({"name": self.name} | plain, default=float)
        except TypeError as error:
            raise TypeError(f"parameters of {type(self).__name__} must be numbers: {error}") from None

    def _check(self) -> None:
        _armwise.check_algorithm(self._spec())

    def _ready(self, dim: int | None = None) -> _armwise.Learner:
        """The learner with the present parameters; it is made when the number of features is first known."""
        if self._learner is not None and self._current:
            return self._learner
        with _LOCK:
            if self._learner is None:
                if dim is None:
                    raise AttributeError(f"this {type(self).__name__} has not seen any features yet")
                learner = _armwise.Learner(self._spec(), dim, self.blocks, self.ties, self.gamma)
            else:
                learner = self._learner.with_policy(self._spec(), self.ties)
            if (self.blocks, self.gamma) != (learner.blocks, learner.gamma):
                raise ValueError("blocks and gamma cannot be changed once there is a model; make a new policy")
            self._learner, self._current = learner, True
            return learner

    # Choosing and learning.

    def choose(
        self,
        X: Any,
        k: int | None = None,
        *,
        constraint: AnyConstraint | None = None,
        ids: ArrayLike | str | None = None,
        eligible: ArrayLike | str | None = None,
        columns: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        features: Sequence[str] | str | None = None,
        t: int | None = None,
    ) -> Decision:
        """Chooses the super arm of the next round: the k best arms, or the best under a constraint.

        X is an array of shape (N, d), float32 or float64 without a copy; or a table (pandas, polars, pyarrow, DuckDB,
        anything with `__arrow_c_stream__`), with `features` the names of its feature columns or of one fixed-size-list
        column (by default all columns that are not used otherwise), and `ids`, `eligible` and `columns` names too. It
        may also be a `Catalogue`, or a sparse matrix of scipy, of which a part at a time is made dense.

        ids are integers or strings that stay with an arm from round to round (by default the row number); eligible
        says which arms, or which arms in which blocks, may be chosen; columns holds what the constraint refers to by
        name (in a table they are found automatically). A constraint is one of this package's, a dictionary as in
        JSON, or a function that gets the scores and returns rows, or rows and blocks.

        Rounds count from 1; give `t` to replay one.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.ArmWiseTS(v=0.5, blocks=2, seed=7)
        >>> d = policy.choose(np.eye(5), constraint=aw.Assignment(quotas=[2, 1]))
        >>> d.blocks.tolist()
        [0, 0, 1]
        """
        oracle, needed = resolve(constraint, k)
        arms = _offered.offered(X, features=features, ids=ids, eligible=eligible, columns=columns, needed=needed)
        learner = self._ready(arms.dim or None)
        with _LOCK:
            round_ = self.t_ if t is None else int(t)
            before, self.t_ = self.t_, max(self.t_, round_ + 1)
        own = self if self.name is None else None
        try:
            native = arms.choose(learner, self.seed, round_, oracle, own)
        except BaseException:
            with _LOCK:
                if self.t_ == round_ + 1:
                    self.t_ = before
            raise
        return Decision(native)

    def learn(self, decision: Decision, rewards: ArrayLike | Mapping[Any, float]) -> None:
        """Learns rewards of a decision: of all its arms in its order, or of any by id, `{id: reward}`; at any time, in
        any order, once per arm. An arm chosen in several blocks is named by `(id, block)`.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.Greedy()
        >>> d = policy.choose(np.eye(3), k=3, ids=[10, 11, 12])
        >>> policy.learn(d, {11: 1.0})
        >>> policy.learn(d, {12: 0.5, 10: 0.0})
        >>> policy.theta_
        array([0.  , 0.5 , 0.25])
        """
        self._ready().learn(decision._native, _rewards(rewards))

    def correct(self, decision: Decision, rewards: ArrayLike | Mapping[Any, float]) -> None:
        """Changes rewards that were learned before."""
        self._ready().correct(decision._native, _rewards(rewards))

    def unlearn(self, decision: Decision, ids: Sequence[Any] | None = None) -> None:
        """Takes back the rewards of these arms, or of all arms of the decision, as if they had never come."""
        taken: Any = np.zeros(len(decision)) if ids is None else dict.fromkeys(ids, 0.0)
        self._ready().unlearn(decision._native, taken)

    def partial_fit(
        self: Self,
        X: Any,
        rewards: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blocks: ArrayLike | None = None,
        features: Sequence[str] | str | None = None,
    ) -> Self:
        """Learns rows and rewards that belong to no decision: a history, a batch from elsewhere. There is no check for
        repetition: rows that are given twice count twice.

        >>> import armwise as aw
        >>> aw.Greedy().partial_fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.5]).theta_
        array([0.5 , 0.25])
        """
        numbers = None if blocks is None else np.asarray(blocks, dtype=np.uint32).tolist()
        weights = None if sample_weight is None else _arms.vector(sample_weight, "sample_weight")
        if _sparse.is_sparse(X):
            rows = _sparse.csr(X)
            learner = self._ready(rows.dim or None)
            learner.observe_sparse(self.t_ - 1, rows, _arms.vector(rewards, "rewards"), numbers, weights)
            return self
        x = _arms.arms(X, features=features).x
        learner = self._ready(x.shape[1] or None)
        learner.observe(self.t_ - 1, x, _arms.vector(rewards, "rewards"), numbers, weights)
        return self

    def fit(
        self: Self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blocks: ArrayLike | None = None,
        features: Sequence[str] | str | None = None,
    ) -> Self:
        """Forgets everything, then learns rows and rewards as `partial_fit` does; after an error, nothing has changed.

        With `fit` and `predict` a policy is the last step of a scikit-learn pipeline. To choose, transform first:

        >>> import armwise as aw
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import MinMaxScaler
        >>> pipe = make_pipeline(MinMaxScaler(), aw.Greedy()).fit([[10.0], [20.0], [30.0]], [0.0, 1.0, 2.0])
        >>> pipe.predict([[30.0], [20.0]]).round(2).tolist()
        [1.11, 0.56]
        >>> pipe[-1].choose(pipe[:-1].transform([[30.0], [20.0]]), k=1).rows
        array([0])
        """
        fresh = self._fresh().partial_fit(X, y, sample_weight, blocks=blocks, features=features)
        with _LOCK:
            self.__dict__ = fresh.__dict__
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The scores that the next round would see, as `score` gives them: the name by which pipelines call it."""
        return self.score(X)

    def _fresh(self: Self) -> Self:
        """A copy of the parameters, which has learned nothing."""
        twin = type(self).__new__(type(self))
        learned = ("_learner", "_current")
        twin.__dict__.update({n: v for n, v in self.__dict__.items() if not n.endswith("_") and n not in learned})
        return twin

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect; only called by it, so it is installed."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(sparse=True))

    def score(
        self,
        X: Any,
        *,
        ids: ArrayLike | str | None = None,
        features: Sequence[str] | str | None = None,
        t: int | None = None,
    ) -> NDArray[np.float64]:
        """The scores that the next round would see, (N,) or with several blocks (N, M); nothing is chosen.

        >>> import armwise as aw
        >>> policy = aw.C2UCB(lam=1.0, alpha=1.0).partial_fit([[1.0], [1.0], [1.0]], [1.0, 1.0, 1.0])
        >>> policy.score([[1.0], [2.0]]).tolist()
        [1.25, 2.5]
        """
        arms = _offered.offered(X, features=features, ids=ids)
        learner = self._ready(arms.dim or None)
        own = self if self.name is None else None
        scores = arms.scores(learner, self.seed, self.t_ if t is None else int(t), own)
        return scores[:, 0] if self.blocks == 1 else scores

    def merge(self: Self, other: Policy) -> Self:
        """Adds everything that another policy has learned; the parameters stay."""
        theirs = other._ready()
        self._ready(theirs.dim).merge(theirs)
        with _LOCK:
            self.t_ = max(self.t_, other.t_)
        return self

    def forget(self: Self, factor: float) -> Self:
        """Multiplies the weight of everything learned so far by `factor`; the prior stays. (To do so in every round,
        give the policy `gamma`.)

        >>> import armwise as aw
        >>> policy = aw.Greedy().partial_fit([[1.0]], [3.0])
        >>> policy.forget(0.5).theta_
        array([1.])
        """
        self._ready().forget(factor)
        return self

    def close_before(self, t: int) -> None:
        """Closes all rounds before t: their rewards are refused from now on."""
        self._ready().close_before(t)

    # What was learned.

    @property
    def theta_(self) -> NDArray[np.float64]:
        """theta_hat, (d,) or with several blocks (M, d)."""
        theta = self._ready().theta()
        return theta[0] if self.blocks == 1 else theta

    @property
    def stderr_(self) -> NDArray[np.float64]:
        """The standard errors of `theta_` for noise of standard deviation 1; multiply by yours."""
        errors = self._ready().stderr()
        return errors[0] if self.blocks == 1 else errors

    @property
    def count_(self) -> int:
        """How many rewards were learned."""
        return 0 if self._learner is None else sum(self._learner.counts)

    @property
    def rr_(self) -> list[float | None]:
        """The sum of squared rewards of each block; None if it is not known, as after loading a file of format 1."""
        return [0.0] * self.blocks if self._learner is None else self._learner.rr

    @property
    def n_features_in_(self) -> int:
        """The number of features, d."""
        return self._ready().dim

    def _repr_html_(self) -> str:
        rows = list(self.get_params(deep=False).items())
        if self._learner is not None:
            rows += [("features", self._learner.dim), ("rewards learned", self.count_), ("next round", self.t_)]
        return _html.table(type(self).__name__, ["", ""], rows, len(rows))

    # Files, copies, parameters.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy and all it has learned to a JSON file that Rust and the command line read as well.

        The file replaces an older one atomically, so a crash leaves the old file or the new one.
        """
        text = self._saved()
        partial = f"{os.fspath(path)}.{os.getpid()}.partial"
        try:
            with open(partial, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            if os.path.exists(partial):
                os.remove(partial)
            raise

    def _saved(self) -> str:
        """What `save` writes."""
        return self._ready().to_json(self.seed, self.t_)

    def restore(self: Self, path: str | os.PathLike[str]) -> Self:
        """Takes over what a file has learned, with this policy's own parameters; for policies of your own, which
        `armwise.load` does not know."""
        with open(path, encoding="utf-8") as file:
            learner, next_ = _armwise.Learner.from_json(file.read())
        self._adopt(learner, next_)
        return self

    def _adopt(self, learner: _armwise.Learner, next_: tuple[int, int] | None) -> None:
        self.blocks, self.gamma = learner.blocks, learner.gamma
        if next_ is not None:
            self.seed = next_[0]
        self.t_ = learner.newest + 1 if next_ is None else next_[1]
        self._learner, self._current = learner, False

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_learner", "_current")}
        if self._learner is not None:
            state["_saved"] = self._learner.to_json(self.seed, self.t_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_saved", None)
        self.__dict__.update(state)
        if saved is not None:
            self._learner, _ = _armwise.Learner.from_json(saved)

    def __copy__(self: Self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if self._learner is not None:
            twin._learner = self._learner.copy()
        return twin

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        twin = self.__copy__()
        for name, value in self.__dict__.items():
            if name not in ("_learner", "_current"):
                twin.__dict__[name] = copy.deepcopy(value, memo)
        return twin


def _rewards(rewards: ArrayLike | Mapping[Any, float]) -> Any:
    return dict(rewards) if isinstance(rewards, Mapping) else _arms.vector(rewards, "rewards")


def _without_none(theory: Theory) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(theory).items() if value is not None}
