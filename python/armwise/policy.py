"""The base of all policies, and of those you write yourself."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os
import secrets
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arms, _armwise, _html, _offered, _tables, _values
from ._armwise import Context
from ._native import named, native, resolve, scoped
from ._parameters import Parameters
from .constraints import AnyConstraint, Constraint, Explicit, Linear
from .decision import Decision
from .inclusion import Inclusion

Self = TypeVar("Self", bound="Policy")

# Guards the round counter and the creation of a policy's learner; held only briefly.
_LOCK = threading.RLock()


# A fork waits until no other thread holds the lock or computes, since in the child that thread would never finish.


def _before_fork() -> None:
    _LOCK.acquire()
    _armwise.before_fork()


def _after_fork() -> None:
    _armwise.after_fork()
    _LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


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

    Where the features first come from a table, their names are kept in `feature_names_in_`. Later tables are read by
    these names, in whatever order their columns stand, and refused if a name is missing or new. An array is taken by
    position, with a warning, as in scikit-learn.

    A forked process (`os.fork`, a `multiprocessing` pool that forks) chooses and learns on one thread, with the same
    results; a spawned one uses all threads.
    """

    #: The kind of random number that each arm gets: None, "uniform" in [0, 1), or "normal".
    draw: ClassVar[str | None] = None
    #: The algorithm's name in Rust, TOML and JSON; None for a policy of your own.
    name: ClassVar[str | None] = None

    # Common parameters, for policies that leave one out of their constructor.
    lam: float | str = 1.0
    # The names of parameters that are words or dictionaries, not numbers.
    _switches: ClassVar[tuple[str, ...]] = ()
    blocks: int = 1
    seed: int | None = 0
    ties: str = "by-id"
    gamma: float | str = 1.0

    _learner: _armwise.Learner | None = None
    _drawn_seed: int | None = None
    # Whether it comes from a file, which does not tell whether its features had names.
    _is_loaded: bool = False
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
            return json.dumps({"name": "own", "lambda": _number(self.lam, "lam")})
        given = self.get_params(deep=False)
        for common in ("blocks", "seed", "ties", "gamma"):
            given.pop(common)
        plain = {
            "lambda" if name == "lam" else name: _switch(value, name)
            if name in self._switches
            else _theory(value)
            if isinstance(value, Theory)
            else _auto(value, name)
            if isinstance(value, str)
            else _number(value, name)
            for name, value in given.items()
        }
        return json.dumps({"name": self.name} | plain)

    def _caution(self, wanted: Any) -> None:
        """Warns where draws of single arms cancel out in the super arms of the constraint."""
        if self.name == "arm-wise-ts" and isinstance(wanted, Explicit | Linear):
            # The kind alone matters, and lists may be long.
            text = _armwise.caution(self._spec(), '{"kind": "explicit", "super_arms": []}')
            if text is not None:
                warnings.warn(text, UserWarning, stacklevel=3)

    def _scope_columns(self) -> list[str]:
        """The column by which arms share their draws, if there is one."""
        scope = getattr(self, "scope", None) if "scope" in self._switches else None
        return [str(scope["group"])] if isinstance(scope, Mapping) and "group" in scope else []

    def _given_gamma(self) -> float | None:
        """The forgetting factor; None where it is chosen by evidence."""
        return None if self.gamma == "auto" else float(self.gamma)

    def _check(self) -> None:
        _values.whole(self.blocks, "blocks", least=1)
        if self.seed is not None:
            _values.whole(self.seed, "seed", most=_values.MOST_SEED)
        if self.ties not in ("by-id", "random"):
            raise ValueError(f'ties = {self.ties!r}: must be "by-id" or "random"')
        if self.gamma != "auto" and not 0.0 < _values.finite(self.gamma, "gamma") <= 1.0:
            raise ValueError(f'gamma = {self.gamma}: must be above 0 and at most 1, or "auto"')
        model = self._learner
        if model is not None and (self.blocks, self._given_gamma()) != (model.blocks, model.gamma):
            there = f"blocks={model.blocks}, gamma={_gamma_of(model)!r}"
            raise ValueError(f"blocks and gamma cannot be changed once there is a model ({there}); make a new policy")
        _armwise.check_algorithm(self._spec())

    @property
    def seed_(self) -> int:
        """The seed in use: `seed`; or, if that is None, one that the operating system gave when it was first needed.

        >>> import armwise as aw
        >>> policy = aw.ArmWiseTS(seed=None)
        >>> policy.choose([[1.0], [2.0]], k=1).seed == policy.seed_
        True
        """
        if self.seed is not None:
            return int(self.seed)
        with _LOCK:
            if self._drawn_seed is None:
                self._drawn_seed = secrets.randbits(63)
            return self._drawn_seed

    def _ready(self, dim: int | None = None) -> _armwise.Learner:
        """The learner with the present parameters; it is made when the number of features is first known."""
        if self._learner is not None and self._current:
            return self._learner
        with _LOCK:
            self._check()
            if self._learner is None:
                if dim is None:
                    raise AttributeError(f"this {type(self).__name__} has not seen any features yet")
                learner = _armwise.Learner(self._spec(), dim, self.blocks, self.ties, self._given_gamma())
            else:
                learner = self._learner.with_policy(self._spec(), self.ties)
            self._learner, self._current = learner, True
            return learner

    @contextlib.contextmanager
    def _reading(self, X: Any, **given: Any) -> Iterator[tuple[_offered.Offered, _armwise.Learner]]:
        """The arms with their features in the order of the names that the policy knows, and the learner for them. If
        what is done with the first ones fails, the policy forgets what it has seen of them."""
        known = getattr(self, "feature_names_in_", None)
        arms = _offered.offered(X, known=None if known is None else list(known), **given)
        dim, names = arms.dim or None, arms.arms.names
        if self._learner is not None:
            # The wording is scikit-learn's.
            if known is not None and names is None:
                text = f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names"
                warnings.warn(text, UserWarning, stacklevel=4)
            elif known is None and names is not None and self._is_loaded:
                self.feature_names_in_ = np.asarray(names, dtype=object)
                order = ", ".join(names)
                text = (
                    f"a saved {type(self).__name__} has no feature names: from now on they are {order}, in this order"
                )
                warnings.warn(text, UserWarning, stacklevel=4)
            elif known is None and names is not None:
                text = f"X has feature names, but {type(self).__name__} was fitted without feature names"
                warnings.warn(text, UserWarning, stacklevel=4)
            yield arms, self._ready(dim)
            return
        with _LOCK:
            is_first = self._learner is None
            learner = self._ready(dim)
            if is_first and names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
        try:
            yield arms, learner
        except BaseException:
            with _LOCK:
                if is_first and self._learner is learner and not any(learner.counts):
                    self._learner, self._current = None, False
                    self.__dict__.pop("feature_names_in_", None)
            raise

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
        probabilities: bool = False,
        replicates: int | None = None,
    ) -> Decision:
        """Chooses the super arm of the next round: the k best arms, or the best under a constraint.

        X is an array of shape (N, d), float32 or float64 without a copy; or a table (pandas, polars, pyarrow, DuckDB,
        anything with `__arrow_c_stream__`), with `features` the names of its feature columns or of one fixed-size-list
        column (by default all columns that are not used otherwise), and `ids`, `eligible` and `columns` names too. It
        may also be a `Catalogue`, or a sparse matrix of scipy, of which a part at a time is made dense.

        The index of a pandas frame is not a feature; by its name it can give the ids. A dictionary of columns is a
        table, too.

        ids are integers or strings that stay with an arm from round to round (by default the row number); eligible
        says which arms, or which arms in which blocks, may be chosen; columns holds what the constraint refers to by
        name (in a table they are found automatically). A constraint is one of this package's, a dictionary as in
        JSON, or a function that gets the scores and returns rows, or rows and blocks.

        With `probabilities`, the decision says how probable it was that each of its arms would be chosen; see
        `inclusion`, which `replicates` is for.

        Rounds count from 1; give `t` to replay one. The draws follow from `seed_` and the round, so a policy that is
        rebuilt with the same seed makes the draws of its first life again, round by round; see `partial_fit`.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.ArmWiseTS(v=0.5, blocks=2, seed=7)
        >>> d = policy.choose(np.eye(5), constraint=aw.Assignment(quotas=[2, 1]))
        >>> d.blocks.tolist()
        [0, 0, 1]
        """
        wanted = resolve(constraint, k)
        needed = [*(wanted.columns() if isinstance(wanted, Constraint) else ()), *self._scope_columns()]
        replayed = None if t is None else _values.whole(t, "t")
        given = {"features": features, "ids": ids, "eligible": eligible, "columns": columns, "needed": needed}
        with self._reading(X, **given) as (arms, learner):
            arms = scoped(arms, self._scope_columns(), wanted)
            oracle = native(wanted, arms.arms)
            self._caution(wanted)
            with _LOCK:
                round_ = self.t_ if replayed is None else replayed
                before, self.t_ = self.t_, max(self.t_, round_ + 1)
            own = self if self.name is None else None
            try:
                made = arms.choose(learner, self.seed_, round_, oracle, own)
                if probabilities:
                    offer = arms.offer(own)
                    made = _armwise.with_probabilities(learner, made, offer, oracle, _replicates(replicates))
            except BaseException as error:
                with _LOCK:
                    if self.t_ == round_ + 1:
                        self.t_ = before
                if isinstance(error, _armwise.InfeasibleError):
                    raise named(error, arms.arms.labels) from None
                raise
            return Decision(made, arms.arms.labels)

    def inclusion(
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
        replicates: int | None = None,
    ) -> Inclusion:
        """How probable it is that `choose` with the same arguments chooses each arm, over the draws of the round.

        Where arms draw for themselves, it is computed: exactly for the k best, quotas of disjoint groups and blocks
        that do not compete, from `replicates` fresh rounds for assignments, budgets and nested quotas. Where arms share
        a draw, or for a constraint of your own, fresh rounds are counted. The answer says which. Nothing is chosen, and
        no round is used up.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.ArmWiseTS(v=0.5).partial_fit(np.eye(3), [0.2, 0.4, 0.6])
        >>> found = policy.inclusion(np.eye(3), k=2)
        >>> found.method, found.probabilities.round(3).tolist(), float(found.probabilities.sum().round(9))
        ('exact', [0.544, 0.677, 0.779], 2.0)
        """
        wanted = resolve(constraint, k)
        needed = [*(wanted.columns() if isinstance(wanted, Constraint) else ()), *self._scope_columns()]
        round_ = self.t_ if t is None else _values.whole(t, "t")
        given = {"features": features, "ids": ids, "eligible": eligible, "columns": columns, "needed": needed}
        with self._reading(X, **given) as (arms, learner):
            arms = scoped(arms, self._scope_columns(), wanted)
            offer = arms.offer(self if self.name is None else None)
            oracle, often = native(wanted, arms.arms), _replicates(replicates)
            try:
                found = _armwise.inclusion(learner, self.seed_, round_, offer, oracle, often)
            except _armwise.InfeasibleError as error:
                raise named(error, arms.arms.labels) from None
        method, pi, errors, often, laws = found
        flat = self.blocks == 1
        return Inclusion(
            pi[:, 0] if flat else pi, method, errors[:, 0] if flat and errors is not None else errors, often, laws
        )

    def learn(self, decision: Decision, rewards: ArrayLike | Mapping[Any, float]) -> None:
        """Learns rewards of a decision: of all its arms in its order, or of any by id, `{id: reward}`; at any time, in
        any order, once per arm. An arm chosen in several blocks is named by `(id, block)`. A pandas series is read by
        its index, which holds ids; with the plain index 0, 1, 2, ... it is read in the order of the decision.

        The decision may be another policy's, read from JSON: it carries its features, so that a policy which has seen
        none yet can begin with it.

        >>> import armwise as aw, numpy as np
        >>> policy = aw.Greedy()
        >>> d = policy.choose(np.eye(3), k=3, ids=[10, 11, 12])
        >>> policy.learn(d, {11: 1.0})
        >>> policy.learn(d, {12: 0.5, 10: 0.0})
        >>> policy.theta_
        array([0.  , 0.5 , 0.25])
        """
        self._ready(decision._native.dim or None).learn(decision._native, _rewards(rewards))
        with _LOCK:
            self.t_ = max(self.t_, decision.t + 1)

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

        Afterwards the next round is at least the one after as many as rewards were learned (`t_ > count_`). So a policy
        that is rebuilt every day from a history that grows does not repeat the draws of the day before. Set `t_`
        yourself, or give `seed=None`, where the history has the same length every day, and with `gamma` below 1, where
        rounds are the clock of forgetting and `t_` is left alone.

        >>> import armwise as aw
        >>> aw.Greedy().partial_fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.5]).theta_
        array([0.5 , 0.25])
        """
        paid = _arms.vector(_arms.same_index(X, rewards, "rewards"), "rewards")
        numbers = None if blocks is None else _block_numbers(_arms.same_index(X, blocks, "blocks"))
        weights = None
        if sample_weight is not None:
            weights = _arms.vector(_arms.same_index(X, sample_weight, "sample_weight"), "sample_weight")
        with self._reading(X, features=features) as (arms, learner):
            arms.observe(learner, self.t_ - 1, paid, numbers, weights)
        if self.gamma == 1.0:
            with _LOCK:
                self.t_ = max(self.t_, self.count_ + 1)
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
        """A copy that has learned nothing. Everything that a policy of the user's own has set stays."""
        twin = type(self).__new__(type(self))
        learned = ("_learner", "_current", "_drawn_seed", "t_", "feature_names_in_")
        twin.__dict__.update({name: value for name, value in self.__dict__.items() if name not in learned})
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
        round_ = self.t_ if t is None else _values.whole(t, "t")
        own = self if self.name is None else None
        with self._reading(X, features=features, ids=ids) as (arms, learner):
            scores = arms.scores(learner, self.seed_, round_, own)
        return scores[:, 0] if self.blocks == 1 else scores

    def merge(self: Self, other: Policy) -> Self:
        """Adds everything that another policy has learned; the parameters stay."""
        theirs = other._ready()
        ours, named = getattr(self, "feature_names_in_", None), getattr(other, "feature_names_in_", None)
        if ours is not None and named is not None and list(ours) != list(named):
            raise ValueError(f"the features are {', '.join(ours)} on one side and {', '.join(named)} on the other")
        self._ready(theirs.dim).merge(theirs)
        with _LOCK:
            self.t_ = max(self.t_, other.t_)
            if ours is None and named is not None:
                self.feature_names_in_ = named
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
    def auto_(self) -> dict[str, float] | None:
        """What the policy would choose by itself in its next round, where a parameter is "auto" or the noise is
        estimated; None otherwise.

        >>> import armwise as aw
        >>> policy = aw.ArmWiseTS(lam="auto", v="auto").partial_fit([[1.0], [1.0], [1.0]], [1.1, 0.9, 1.0])
        >>> round(policy.auto_["sigma"], 2)
        0.57
        """
        return self._ready().auto(self.seed_, self.t_)

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

        The file replaces an older one atomically, so a crash leaves the old file or the new one. It does not hold the
        names of features: after loading, set `feature_names_in_`, or the first table that is given sets them.
        """
        text = self._text()
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

    def _text(self) -> str:
        """What `save` writes."""
        return self._ready().to_json(self.seed_, self.t_)

    def restore(self: Self, path: str | os.PathLike[str]) -> Self:
        """Takes over what a file has learned, with this policy's own parameters; for policies of your own, which
        `armwise.load` does not know."""
        with open(path, encoding="utf-8") as file:
            learner, next_ = _armwise.Learner.from_json(file.read())
        self._adopt(learner, next_)
        return self

    def _adopt(self, learner: _armwise.Learner, next_: tuple[int, int] | None) -> None:
        self.blocks, self.gamma = learner.blocks, _gamma_of(learner)
        if next_ is not None:
            self.seed = next_[0]
        self.t_ = learner.newest + 1 if next_ is None else next_[1]
        self._learner, self._current, self._is_loaded = learner, False, True

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_learner", "_current")}
        if self._learner is not None:
            state["_saved"] = self._learner.to_json(self.seed_, self.t_)
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


def _gamma_of(learner: _armwise.Learner) -> float | str:
    return "auto" if learner.gamma is None else learner.gamma


def _rewards(rewards: ArrayLike | Mapping[Any, float]) -> Any:
    if isinstance(rewards, Mapping):
        return dict(rewards)
    if _tables.is_series(rewards):
        index: Any = rewards.index  # type: ignore[union-attr]
        if not index.equals(_tables.pandas().RangeIndex(len(index))):
            if not index.is_unique:
                raise ValueError("rewards: the index of the series holds the ids of arms, but one of them twice")
            return dict(zip(index.tolist(), _arms.vector(rewards, "rewards").tolist(), strict=True))
    return _arms.vector(rewards, "rewards")


def _block_numbers(blocks: ArrayLike) -> list[int]:
    read = _values.array(blocks, "blocks")
    if read.dtype.kind not in "iu" and read.size > 0:
        raise TypeError(f"blocks are of dtype {read.dtype}: must be whole numbers")
    if read.size and not 0 <= read.min() <= read.max() < 2**32:
        raise ValueError(f"block {read.min() if read.min() < 0 else read.max()} does not exist: blocks count from 0")
    return read.tolist()  # type: ignore[no-any-return]


def _auto(value: str, name: str) -> str:
    """The one text that a number may be."""
    if value != "auto":
        raise TypeError(f'{name} = {value!r}: must be a number, or "auto"')
    return value


def _number(value: Any, name: str) -> float:
    return _values.finite(value, "lambda" if name == "lam" else name)


def _switch(value: Any, name: str) -> Any:
    """A word, or a dictionary that JSON can say; what it means, the library knows."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} = {value!r}: must be a word or a dictionary")
    try:
        return json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} = {value!r}: {error}") from None


def _theory(theory: Theory) -> dict[str, Any]:
    given = {name: value for name, value in dataclasses.asdict(theory).items() if value is not None}
    whole = {"k", "n", "rounds"}
    return {
        name: _values.whole(value, f"Theory.{name}") if name in whole else _number(value, f"Theory.{name}")
        for name, value in given.items()
    }


def _replicates(given: int | None) -> int | None:
    return None if given is None else _values.whole(given, "replicates", least=1)
