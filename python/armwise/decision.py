"""What was chosen in a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise, _html, _values
from ._native import relabelled

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class ChosenArm(NamedTuple):
    """One of the chosen arms, as a decision gives them one by one."""

    #: The arm's id as it was given: an integer or a name.
    id: int | str
    #: Its row in the X of the call; -1 if it is not known.
    row: int
    #: The block (promotion) it was chosen in.
    block: int
    #: The estimate theta_hat' x.
    mean: float
    #: How uncertain the estimate is.
    width: float
    #: Its draw; NaN if the policy makes none.
    draw: float
    #: What the oracle saw.
    score: float
    #: How probable it was that it would be chosen; NaN where that was not asked for.
    probability: float = float("nan")


class Decision:
    """The chosen arms, each with the numbers that decided, and all that is needed to learn from them later.

    Arms are ordered by block, then by falling score. The decision converts to Arrow, pandas, polars and JSON. From the
    JSON, another process can learn rewards a week later, in Python or Rust.

    >>> import armwise as aw, numpy as np
    >>> policy = aw.C2UCB(lam=1.0, alpha=0.1)
    >>> d = policy.choose(np.eye(3), k=2, ids=["ann", "bob", "cem"])
    >>> d.ids.tolist(), d.rows.tolist(), len(d)
    (['ann', 'bob'], [0, 1], 2)
    >>> aw.Decision.from_json(d.to_json()).ids.tolist()
    ['ann', 'bob']
    >>> [arm.id for arm in d if arm.score > 0]
    ['ann', 'bob']
    """

    __slots__ = ("_labels", "_native")

    def __init__(self, native: _armwise.Decision, labels: Mapping[str, list[str]] | None = None) -> None:
        self._native = native
        # What the numbers of columns of strings mean.
        self._labels = labels or {}

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of the chosen arms as they were given: integers, names, or row numbers."""
        return np.asarray(self._native.ids)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their rows in the X of the call that made the decision; -1 in a decision read from JSON."""
        return self._native.rows

    @property
    def blocks(self) -> NDArray[np.int64]:
        """The blocks (promotions) they were chosen in."""
        return self._native.blocks

    @property
    def scores(self) -> NDArray[np.float64]:
        """What the oracle saw."""
        return self._native.scores

    @property
    def means(self) -> NDArray[np.float64]:
        """The estimates theta_hat' x."""
        return self._native.means

    @property
    def widths(self) -> NDArray[np.float64]:
        """How uncertain the estimates are: |x| in the norm of V^-1."""
        return self._native.widths

    @property
    def draws(self) -> NDArray[np.float64]:
        """The draw of each arm; NaN if the policy makes none."""
        return self._native.draws

    @property
    def probability(self) -> NDArray[np.float64]:
        """How probable it was that each would be chosen, before the draws; NaN where that was not asked for.

        >>> import armwise as aw, numpy as np
        >>> d = aw.ArmWiseTS(v=0.5).choose(np.eye(4), k=1, probabilities=True)
        >>> d.probability.round(6).tolist(), d.method
        ([0.25], 'exact')
        """
        return self._native.probability

    @property
    def method(self) -> str | None:
        """How the probabilities were found, as `Inclusion.method` says; None where they were not."""
        return self._native.method

    @property
    def features(self) -> NDArray[np.float64]:
        """The features of the chosen arms."""
        return self._native.features

    @property
    def t(self) -> int:
        """The round's number."""
        return self._native.t

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._native.seed

    @property
    def auto(self) -> dict[str, float] | None:
        """What the policy chose by itself, where a parameter is "auto" or the noise is estimated: `lambda`, `v` or
        `alpha`, and `sigma`, the noise of the rewards; None otherwise.

        >>> import armwise as aw
        >>> aw.ArmWiseTS(lam="auto", v="auto").choose([[1.0], [2.0]], k=1).auto
        {'lambda': 1.0, 'sigma': 1.0, 'v': 0.25}
        """
        return self._native.auto

    @property
    def objective(self) -> float:
        """The sum of the scores."""
        return self._native.objective

    @property
    def bound(self) -> float | None:
        """No super arm has a larger sum than this; None after an oracle of your own, which does not tell."""
        return self._native.bound

    @property
    def status(self) -> str:
        """ "optimal"; "gap" if a better super arm up to `bound` may exist; "unknown" after an oracle of your own."""
        return self._native.status

    def examined(self, probabilities: ArrayLike) -> Decision:
        """The decision of a slate whose places are examined with these probabilities, one for each chosen arm: learn
        and correct rewards with it in place of the decision itself. The features are multiplied, since the expected
        reward of place j is q_j theta' x.

        >>> import armwise as aw
        >>> policy = aw.Greedy()
        >>> slate = policy.choose([[1.0], [1.0]], k=2)
        >>> policy.learn(slate.examined([1.0, 0.5]), [1.0, 1.0])
        >>> policy.theta_.round(4)
        array([0.6667])
        """
        given = np.asarray(probabilities, dtype=np.float64).ravel().tolist()
        return Decision(self._native.examined(given), self._labels)

    def up_to_click(self, click: int | None, shown: Sequence[int] | None = None) -> dict[tuple[Any, int], float]:
        """The rewards of a cascade, for `learn`: of the arms up to the first click, at place `click` of those shown, 1
        for it and 0 for those above; below it nobody looked. Without a click (None) every arm was seen. `shown` has the
        places of the chosen arms in the order in which they were shown, if that is not the decision's own.

        >>> import armwise as aw
        >>> policy = aw.Greedy(lam=1.0)
        >>> slate = policy.choose([[0.1], [0.2], [0.3]], k=3, ids=["a", "b", "c"])
        >>> rewards = slate.up_to_click(1)
        >>> list(rewards.values())
        [0.0, 1.0]
        >>> policy.learn(slate, rewards)
        """
        places = range(len(self)) if shown is None else [_values.whole(place, "shown") for place in shown]
        seen = list(places) if click is None else list(places)[: _values.whole(click, "click") + 1]
        if (click is not None and len(seen) <= click) or any(place >= len(self) for place in seen):
            raise IndexError(f"place {click if click is not None else max(seen)} of a slate of {len(places)}")
        ids, blocks = list(self.ids), self.blocks.tolist()
        ids = [key.item() if isinstance(key, np.generic) else key for key in ids]
        return {(ids[place], blocks[place]): float(at == click) for at, place in enumerate(seen)}

    @property
    def prices(self) -> dict[str, float]:
        """What one more unit of a limit would be worth."""
        return {relabelled(limit, self._labels): price for limit, price in self._native.prices.items()}

    @property
    def missing(self) -> dict[str, tuple[int, int]]:
        """Where `on_infeasible="fill"` fell short: (needed, chosen) by limit."""
        return {relabelled(limit, self._labels): counts for limit, counts in self._native.missing.items()}

    def _columns(self) -> dict[str, Any]:
        columns = {
            "id": self._native.ids,
            "row": self.rows,
            "block": self.blocks,
            "mean": self.means,
            "width": self.widths,
            "draw": self.draws,
            "score": self.scores,
        }
        return columns if self.method is None else {**columns, "probability": self.probability}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The decision as an Arrow stream: `pyarrow.table(d)`, `polars.DataFrame(d)`, DuckDB."""
        return _armwise.export(list(self._columns().items()))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table: id, row, block, mean, width, draw, score; and probability, where it was asked for."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame: id, row, block, mean, width, draw, score; and probability, where it was asked for."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """A polars frame: id, row, block, mean, width, draw, score; and probability, where it was asked for."""
        import polars

        return polars.DataFrame(self)

    def to_json(self) -> str:
        """The decision as JSON, as Rust reads and writes it."""
        return self._native.to_json()

    @classmethod
    def from_json(cls, text: str) -> Decision:
        """The decision that `to_json` wrote, without its rows."""
        return cls(_armwise.Decision.from_json(text, None))

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[ChosenArm]:
        columns = (c.tolist() if isinstance(c, np.ndarray) else c for c in self._columns().values())
        return map(ChosenArm, *columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and self._native == other._native

    def __hash__(self) -> int:
        return hash((self.seed, self.t, len(self)))

    def __repr__(self) -> str:
        return f"Decision(t={self.t}, arms={len(self)}, objective={self.objective:.6g}, status={self.status!r})"

    def _repr_html_(self) -> str:
        return _html.columns(repr(self), self._columns())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_json(), self.rows.tolist(), self._labels)


def _restore(text: str, rows: list[int], labels: Mapping[str, list[str]] | None = None) -> Decision:
    return Decision(_armwise.Decision.from_json(text, rows), labels)
