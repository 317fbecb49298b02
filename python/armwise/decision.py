"""What was chosen in a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _armwise, _html
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

    @property
    def prices(self) -> dict[str, float]:
        """What one more unit of a limit would be worth."""
        return {relabelled(limit, self._labels): price for limit, price in self._native.prices.items()}

    @property
    def missing(self) -> dict[str, tuple[int, int]]:
        """Where `on_infeasible="fill"` fell short: (needed, chosen) by limit."""
        return {relabelled(limit, self._labels): counts for limit, counts in self._native.missing.items()}

    def _columns(self) -> dict[str, Any]:
        return {
            "id": self._native.ids,
            "row": self.rows,
            "block": self.blocks,
            "mean": self.means,
            "width": self.widths,
            "draw": self.draws,
            "score": self.scores,
        }

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The decision as an Arrow stream: `pyarrow.table(d)`, `polars.DataFrame(d)`, DuckDB."""
        return _armwise.export(list(self._columns().items()))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table: id, row, block, mean, width, draw, score."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame: id, row, block, mean, width, draw, score."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """A polars frame: id, row, block, mean, width, draw, score."""
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
