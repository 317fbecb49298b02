"""Arms that are offered again every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from . import _arms, _armwise


class Catalogue:
    """Arms that are chosen from again and again: the items of a shop, the same customers next week.

    It copies the features once, lays them out for speed and remembers from round to round how wide the uncertainty of
    each arm was. Give it to `choose` or `score` in place of X: the same decisions as from the same X, to the bit, and
    faster where few of many arms are chosen. X, ids and features are as in `choose`; which arms are eligible and what
    a constraint refers to may change in every round, so they are given to `choose`.

    >>> import armwise as aw, numpy as np
    >>> items = aw.Catalogue(np.diag([4.0, 3.0, 2.0, 1.0]), ids=["apple", "bread", "cheese", "dates"])
    >>> policy = aw.C2UCB(alpha=0.5)
    >>> d = policy.choose(items, k=2, eligible=[True, False, True, True])
    >>> d.ids.tolist()
    ['apple', 'cheese']
    >>> items
    Catalogue(arms=4, features=4)
    """

    __slots__ = ("_native", "feature_names")

    def __init__(
        self,
        X: Any,
        *,
        ids: ArrayLike | str | None = None,
        features: Sequence[str] | str | None = None,
    ) -> None:
        arms = _arms.arms(X, features=features, ids=ids)
        self._native = _armwise.Catalogue(arms.x, arms.ids)
        #: The names of the features, where X was a table that has them.
        self.feature_names = arms.names

    @property
    def n_features_in_(self) -> int:
        """The number of features, d."""
        return self._native.dim

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Catalogue(arms={len(self)}, features={self.n_features_in_})"
