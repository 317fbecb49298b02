"""The oracles alone: the best super arm for given scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise, _html
from ._arms import Arms, attached
from ._native import named, native, relabelled, resolve
from ._tables import keys
from ._values import MOST_SEED, numbers, whole
from .constraints import AnyConstraint


@dataclass(frozen=True, eq=False)
class Selection:
    """The answer of an oracle: by block, then by falling score."""

    #: The chosen rows.
    rows: NDArray[np.int64]
    #: The block of each.
    blocks: NDArray[np.int64]
    #: The sum of their scores.
    objective: float
    #: No super arm has a larger sum than this; None after an oracle of your own, which does not tell.
    bound: float | None
    #: "optimal"; "gap" if a better super arm up to `bound` may exist; "unknown" after an oracle of your own.
    status: str
    #: What one more unit of a limit would be worth.
    prices: dict[str, float]
    #: Where `on_infeasible="fill"` fell short: (needed, chosen) by limit.
    missing: dict[str, tuple[int, int]]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        title = f"Selection(arms={len(self)}, objective={self.objective:.6g}, status={self.status!r})"
        return _html.columns(title, {"row": self.rows, "block": self.blocks})


def solve(
    scores: ArrayLike,
    constraint: AnyConstraint | None = None,
    *,
    k: int | None = None,
    ids: ArrayLike | None = None,
    columns: Mapping[str, ArrayLike] | None = None,
    ties: str = "by-id",
    seed: int = 0,
    t: int = 0,
) -> Selection:
    """The best super arm for scores of shape (N,) or (N, M); -inf marks an arm that may not be chosen.

    `columns` holds what the constraint refers to by name. `ids` are needed if it names arms by anything but row
    numbers; they also decide between equal scores (with ties="random", a draw from this seed and t decides).

    >>> import armwise as aw
    >>> best = aw.solve([0.2, 0.9, 0.4], k=2)
    >>> best.rows, best.objective, best.status
    (array([1, 2]), 1.3, 'optimal')
    >>> aw.solve([0.2], k=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    armwise.InfeasibleError: no super arm satisfies the constraint: exactly 2 arms are asked for, but only ...
    """
    values = np.ascontiguousarray(numbers(scores, "scores"), dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"scores must have 1 or 2 dimensions, found {values.ndim}")
    arms = Arms(values, keys(ids), values > -np.inf, *attached(columns or {}))
    oracle = native(resolve(constraint, k), arms)
    seed, t = whole(seed, "seed", most=MOST_SEED), whole(t, "t")
    try:
        found = _armwise.solve(values, oracle, arms.ids, arms.columns, ties, seed, t)
    except _armwise.InfeasibleError as error:
        raise named(error, arms.labels) from None
    for by_limit in ("prices", "missing"):
        found[by_limit] = {relabelled(limit, arms.labels): value for limit, value in found[by_limit].items()}
    return Selection(**found)
