"""What a round is chosen from: arrays or a table, a catalogue, or sparse rows, each with its way to the native half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arms, _armwise, _sparse
from .catalogue import Catalogue


class Offered(Protocol):
    """The arms of a round; `own` is the policy where it is written in Python."""

    @property
    def arms(self) -> _arms.Arms:
        """All but the features: ids, mask, columns, names."""

    @property
    def dim(self) -> int:
        """The number of features."""

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        """The decision of round t."""

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        """The scores of round t, one row per arm."""

    def observe(self, learner: _armwise.Learner, t: int, rewards: Any, blocks: Any, weights: Any) -> None:
        """Learns the rows."""

    def offer(self, own: Any) -> tuple[Any, Any, Any, Any]:
        """Features, ids, mask and columns, for probabilities."""


class Dense(NamedTuple):
    """Arms in arrays."""

    arms: _arms.Arms

    @property
    def dim(self) -> int:
        return int(self.arms.x.shape[1])

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        arms = self.arms
        return learner.choose(seed, t, arms.x, arms.ids, arms.eligible, arms.columns, oracle, own)

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        return learner.scores(seed, t, self.arms.x, self.arms.ids, own)

    def observe(self, learner: _armwise.Learner, t: int, rewards: Any, blocks: Any, weights: Any) -> None:
        learner.observe(t, self.arms.x, rewards, blocks, weights)

    def offer(self, own: Any) -> tuple[Any, Any, Any, Any]:
        _refuse_own(own)
        return self.arms.x, self.arms.ids, self.arms.eligible, self.arms.columns


class Listed(NamedTuple):
    """Arms of a catalogue; `arms` has no features."""

    catalogue: _armwise.Catalogue
    arms: _arms.Arms

    @property
    def dim(self) -> int:
        return self.catalogue.dim

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        return learner.choose_from(seed, t, self.catalogue, self.arms.eligible, self.arms.columns, oracle, own)

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        return learner.scores_from(seed, t, self.catalogue, own)

    def observe(self, learner: _armwise.Learner, t: int, rewards: Any, blocks: Any, weights: Any) -> None:
        raise TypeError("a catalogue is chosen from; give the features of the rows that were paid as an array")

    def offer(self, own: Any) -> tuple[Any, Any, Any, Any]:
        _refuse_own(own)
        return self.catalogue, None, self.arms.eligible, self.arms.columns


class Sparse(NamedTuple):
    """Sparse arms; `arms` has one placeholder in place of each row's features."""

    x: _sparse.Csr
    arms: _arms.Arms

    @property
    def dim(self) -> int:
        return self.x.dim

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        self._refuse(own)
        arms = self.arms
        return learner.choose_sparse(seed, t, self.x, arms.x, arms.ids, arms.eligible, arms.columns, oracle)

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        self._refuse(own)
        return learner.scores_sparse(seed, t, self.x, self.arms.x, self.arms.ids)

    def observe(self, learner: _armwise.Learner, t: int, rewards: Any, blocks: Any, weights: Any) -> None:
        learner.observe_sparse(t, self.x, rewards, blocks, weights)

    def offer(self, own: Any) -> tuple[Any, Any, Any, Any]:
        raise TypeError("X is sparse, and probabilities need all arms at once: give X.toarray()")

    @staticmethod
    def _refuse(own: Any) -> None:
        if own is not None:
            raise TypeError(
                f"X is sparse, and {type(own).__name__}, a policy of your own, sees all arms at once: give X.toarray()"
            )


def _refuse_own(own: Any) -> None:
    if own is not None:
        name = type(own).__name__
        raise TypeError(f"{name} is a policy of your own, whose scores have no known law: count its choices instead")


def offered(x: Any, *, known: list[str] | None = None, **given: Any) -> Offered:
    """The arms in any form that `choose` takes; `given` are the other arguments of `_arms.arms`."""
    if isinstance(x, Catalogue):
        return _listed(x, known, **given)
    if _sparse.is_sparse(x):
        rows = _sparse.csr(x)
        holder = np.zeros((len(rows.indptr) - 1, 1), np.float32)
        return Sparse(rows, _arms.arms(holder, **given))
    return Dense(_arms.arms(x, known=known, **given))


def _listed(
    catalogue: Catalogue,
    known: list[str] | None,
    *,
    features: Sequence[str] | str | None = None,
    ids: Any = None,
    eligible: Any = None,
    columns: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    needed: Sequence[str] = (),
) -> Listed:
    if ids is not None or features is not None:
        raise TypeError("ids and features belong to a catalogue: give them to Catalogue(...)")
    if isinstance(eligible, str) or not isinstance(columns, Mapping | None):
        raise TypeError("a catalogue has no columns: give eligible and columns as arrays")
    names = catalogue.feature_names
    if known is not None and names is not None and names != known:
        raise ValueError(
            f"the catalogue's features are {', '.join(names)}, the policy's are {', '.join(known)}: "
            "make the catalogue with features=[...] in the order of the policy's"
        )
    nothing = np.empty((0, catalogue.n_features_in_))
    arms = _arms.arms(nothing, eligible=eligible, columns=columns)
    return Listed(catalogue._native, arms._replace(names=names))
