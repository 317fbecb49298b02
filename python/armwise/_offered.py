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
    def dim(self) -> int:
        """The number of features."""

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        """The decision of round t."""

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        """The scores of round t, one row per arm."""


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


class Listed(NamedTuple):
    """Arms of a catalogue."""

    catalogue: _armwise.Catalogue
    eligible: NDArray[np.bool_] | None
    columns: list[tuple[str, NDArray[np.float64]]]

    @property
    def dim(self) -> int:
        return self.catalogue.dim

    def choose(self, learner: _armwise.Learner, seed: int, t: int, oracle: Any, own: Any) -> _armwise.Decision:
        return learner.choose_from(seed, t, self.catalogue, self.eligible, self.columns, oracle, own)

    def scores(self, learner: _armwise.Learner, seed: int, t: int, own: Any) -> NDArray[np.float64]:
        return learner.scores_from(seed, t, self.catalogue, own)


class Sparse(NamedTuple):
    """Sparse arms; `arms` holds everything but the features, and one placeholder in place of each row's."""

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

    @staticmethod
    def _refuse(own: Any) -> None:
        if own is not None:
            raise TypeError(
                f"X is sparse, and {type(own).__name__}, a policy of your own, sees all arms at once: give X.toarray()"
            )


def offered(
    x: Any,
    *,
    features: Sequence[str] | str | None = None,
    ids: Any = None,
    eligible: Any = None,
    columns: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    needed: Sequence[str] = (),
) -> Offered:
    """The arms in any form that `choose` takes."""
    if isinstance(x, Catalogue):
        if ids is not None or features is not None:
            raise TypeError("ids and features belong to a catalogue: give them to Catalogue(...)")
        if isinstance(eligible, str) or not isinstance(columns, Mapping | None):
            raise TypeError("a catalogue has no columns: give eligible and columns as arrays")
        attached = [(name, _arms.column(values, name)) for name, values in (columns or {}).items()]
        return Listed(x._native, _arms.flags(eligible), attached)
    if _sparse.is_sparse(x):
        rows = _sparse.csr(x)
        holder = np.zeros((len(rows.indptr) - 1, 1), np.float32)
        return Sparse(rows, _arms.arms(holder, features=features, ids=ids, eligible=eligible, columns=columns))
    return Dense(_arms.arms(x, features=features, ids=ids, eligible=eligible, columns=columns, needed=needed))
