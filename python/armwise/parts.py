"""Choosing from a table that lies in parts, on several machines: the decision of the whole, to the bit.

A `Choice` is what every part needs; it pickles. Each part gives its candidates, rows that may be chosen from the whole;
from the candidates of all parts the decision is made. `armwise.spark` does this on Spark; with plain functions on Arrow
batches it is the same on Ray or Dask:

>>> import armwise as aw, numpy as np, pyarrow as pa
>>> from armwise import parts
>>> table = pa.table({"customer": range(1000), "x": np.linspace(0, 1, 1000), "y": np.linspace(1, 0, 1000) ** 2})
>>> policy = aw.ArmWiseTS(seed=3)
>>> choice = parts.Choice.of(policy, k=5, ids="customer", features=["x", "y"])
>>> d = None
>>> while d is None:                                                  # a second time if a guess was wrong
...     kept = [choice.candidates(table.slice(at, 250).to_batches()) for at in range(0, 1000, 250)]  # anywhere
...     d, choice = choice.decide(kept)
>>> d.ids.tolist() == policy.choose(table, k=5, ids="customer", features=["x", "y"], t=1).ids.tolist()
True
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _arms, _armwise, _values
from ._native import in_numbers, named, native, refuse_strings_for_both, resolve
from .constraints import AnyConstraint, Constraint
from .decision import Decision

if TYPE_CHECKING:
    import pyarrow

    from .policy import Policy


@dataclass(frozen=True)
class Kept:
    """The candidates of a part; it pickles."""

    #: How many rows the part has.
    rows: int
    #: The ids as integers, or the names.
    ids: NDArray[np.uint64] | list[str]
    #: The features of the candidates.
    features: NDArray[Any]
    #: Whether they may be chosen: none, one flag per row, or one per row and block.
    eligible: NDArray[np.bool_] | None
    #: The columns that the constraint names.
    columns: dict[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Choice:
    """What every part of a table needs to be chosen from in one round."""

    _frozen: str
    _constraint: int | str
    seed: int
    t: int
    ids: str
    features: tuple[str, ...]
    eligible: tuple[str, ...]
    columns: tuple[str, ...]
    #: What the strings of a column mean as numbers.
    labels: dict[str, list[str]]
    #: The score that an arm must reach in each block; None while nothing is known.
    floors: tuple[float, ...] | None = None
    #: Whether the floors are a guess, which the decision proves or refutes.
    guessed: bool = False
    #: The column by which arms share their draws, if there is one.
    scope: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        policy: Policy,
        *,
        ids: str,
        features: Sequence[str],
        constraint: AnyConstraint | None = None,
        k: int | None = None,
        eligible: str | Sequence[str] | None = None,
        groups: Mapping[str, Mapping[Any, bool]] | None = None,
        t: int | None = None,
        dim: int | None = None,
    ) -> Choice:
        """The choice of round `t` (the policy's next one unless given).

        `features` are the columns of numbers, or one column of lists, for which a policy that has seen nothing yet must
        be told their length `dim`; `eligible` is a column of flags, or one per block.
        `groups` has, for each column that a `Group` names, its values in the whole table and whether one of its rows is
        eligible: a part alone does not tell.
        """
        if policy.name is None:
            raise TypeError(
                f"{type(policy).__name__} is written in Python and sees all arms at once: use policy.choose"
            )
        wanted = resolve(constraint, k)
        if not isinstance(wanted, int | Constraint):
            raise TypeError("an oracle written in Python sees all arms at once: use policy.choose")
        policy._caution(wanted)
        columns = [*(wanted.columns() if isinstance(wanted, Constraint) else ()), *policy._scope_columns()]
        labels = {
            name: sorted(map(str, values))
            for name, values in (groups or {}).items()
            if any(isinstance(value, str) for value in values)
        }
        for name in policy._scope_columns():
            if name in labels:
                refuse_strings_for_both(name, wanted)
        picked = [features] if isinstance(features, str) else list(features)
        known = getattr(policy, "feature_names_in_", None)
        if known is not None:
            from ._tables import features_of

            picked = features_of(picked, None, set(), list(known))
        is_new = policy._learner is None
        learner = policy._ready(len(picked) if dim is None else dim)
        if is_new and learner.dim == len(picked):
            policy.feature_names_in_ = np.asarray(picked, dtype=object)
        round_ = policy.t_ if t is None else _values.whole(t, "t")
        flags = (eligible,) if isinstance(eligible, str) else tuple(eligible or ())
        if len(flags) not in (0, 1, learner.blocks):
            raise ValueError(
                f"eligible names {len(flags)} columns: expected 1, or one for each of {learner.blocks} blocks"
            )
        return cls(
            _frozen=learner.freeze(policy.seed_, round_).to_json(),
            _constraint=native(wanted, _outline(groups or {}, labels)),  # type: ignore[arg-type]
            seed=policy.seed_,
            t=round_,
            ids=ids,
            features=tuple(picked),
            eligible=flags,
            columns=tuple(columns),
            labels=labels,
            scope=tuple(policy._scope_columns()),
        )

    @property
    def needs(self) -> list[str]:
        """The columns that a part must have."""
        return list(dict.fromkeys([self.ids, *self.features, *self.eligible, *self.columns]))

    def guess(self, sample: pyarrow.Table, share: float) -> Choice:
        """With floors guessed from a sample, which is this share of all rows, so that parts keep few candidates."""
        if sample.num_rows == 0:
            return self
        floors = self._native().guess(self._part(sample), self._constraint, share)
        return dataclasses.replace(self, floors=None if floors is None else tuple(floors), guessed=floors is not None)

    def candidates(self, batches: Iterable[pyarrow.RecordBatch]) -> Kept:
        """The candidates of a part, which comes in Arrow batches. They are read one by one and not kept."""
        floors = None if self.floors is None else list(self.floors)
        rows, kept = self._native().candidates(self._parts(batches), self._constraint, floors)
        if kept is None:
            return Kept(rows, [], np.empty((0, len(self.features))), None, {})
        ids, x, eligible, columns = kept
        return Kept(rows, ids, x, eligible, dict(columns))

    def decide(self, parts: Iterable[Kept]) -> tuple[Decision | None, Choice]:
        """The decision from the candidates of all parts; or none, and the choice with which all parts must give their
        candidates once more, because the floors were guessed too high."""
        parts = list(parts)
        kept = [part for part in parts if len(part) > 0]
        rows = sum(part.rows for part in parts)
        merged = _merged(kept, self._native().dim)
        guess = list(self.floors) if self.guessed and self.floors is not None else None
        others = rows - sum(map(len, kept))
        try:
            made, floors = self._native().decide(merged, self._constraint, guess, others)
        except _armwise.InfeasibleError as error:
            raise named(error, self.labels) from None
        if made is not None:
            return Decision(made, self.labels), self
        return None, dataclasses.replace(self, floors=None if floors is None else tuple(floors), guessed=False)

    def _native(self) -> _armwise.Frozen:
        native = self.__dict__.get("_read")
        if native is None:
            native = _armwise.Frozen.from_json(self._frozen)
            object.__setattr__(self, "_read", native)
        return native

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_read"}

    def _parts(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[Any]:
        import pyarrow

        first = 0
        for batch in batches:
            if batch.num_rows > 0:
                try:
                    yield self._part(pyarrow.table(batch) if isinstance(batch, pyarrow.RecordBatch) else batch)
                except (TypeError, ValueError, KeyError) as error:
                    if first > 0:
                        error.add_note(f"rows count from row {first} of the part")
                    raise
            first += batch.num_rows

    def _part(self, table: pyarrow.Table) -> tuple[Any, ...]:
        """The rows of a table as the native half takes them."""
        features: Any = list(self.features)
        if len(features) == 1:
            table = _fixed(table, features[0], self._native().dim)
        one = self.eligible[0] if len(self.eligible) == 1 else None
        arms = _arms.arms(table, features=features, ids=self.ids, eligible=one, needed=list(self.columns))
        eligible = arms.eligible
        if len(self.eligible) > 1:
            read = _armwise.Table(table)
            eligible = np.ascontiguousarray(np.stack([read.flags(name) for name in self.eligible], axis=1))
        columns = [(name, self._numbers(name, values, arms.labels.get(name))) for name, values in arms.columns]
        return arms.x, arms.ids, eligible, columns

    def _numbers(self, name: str, values: NDArray[np.float64], labels: list[str] | None) -> NDArray[np.float64]:
        """A column of strings by the numbers of the whole table."""
        if labels is None:
            return values
        if name in self.scope:
            return in_numbers(labels, values)
        known = {label: place for place, label in enumerate(self.labels.get(name, ()))}
        for label in labels:
            if label not in known:
                raise ValueError(f"column {name!r} holds {label!r}, which groups={{{name!r}: ...}} does not name")
        return np.array([float(known[label]) for label in labels])[values.astype(np.int64)]


def _fixed(table: pyarrow.Table, name: str, dim: int) -> pyarrow.Table:
    """The table with lists of one length in place of lists of any."""
    import pyarrow

    if name not in table.column_names:
        return table
    kind = table.schema.field(name).type
    if not pyarrow.types.is_list(kind) and not pyarrow.types.is_large_list(kind):
        return table
    lists = table.column(name).combine_chunks()
    lists = lists.combine_chunks() if isinstance(lists, pyarrow.ChunkedArray) else lists
    lengths = np.diff(np.asarray(lists.offsets))
    wrong = np.flatnonzero((lengths != dim) | np.asarray(lists.is_null()))
    if wrong.size:
        found = "missing" if lists[int(wrong[0])].as_py() is None else f"of {lengths[wrong[0]]} numbers"
        raise ValueError(f"column {name!r}, row {wrong[0]}: the list is {found}, expected {dim} numbers")
    fixed = pyarrow.FixedSizeListArray.from_arrays(lists.flatten(), dim)
    return table.set_column(table.column_names.index(name), name, fixed)


def _outline(groups: Mapping[str, Mapping[Any, bool]], labels: Mapping[str, list[str]]) -> _arms.Arms:
    """Arms with every value of every column that a group names, in a row of its own; all that groups need to know."""
    count = sum(map(len, groups.values()))
    eligible, columns, first = np.zeros(count, np.bool_), [], 0
    for name, values in groups.items():
        of = labels.get(name)
        column = np.full(count, np.nan)
        for row, (value, flag) in enumerate(values.items(), first):
            column[row], eligible[row] = of.index(value) if of is not None else value, flag
        columns.append((name, column))
        first += len(values)
    return _arms.Arms(np.empty((0, 1)), None, eligible, columns, dict(labels))


def _merged(kept: Sequence[Kept], dim: int) -> tuple[Any, ...]:
    if not kept:
        raise ValueError("there are no rows to choose from")
    first = kept[0]
    if isinstance(first.ids, list):
        ids: Any = _armwise.Names([name for part in kept for name in part.ids])
    else:
        ids = np.concatenate([np.asarray(part.ids) for part in kept])
    x = np.ascontiguousarray(np.concatenate([part.features for part in kept]).reshape(-1, dim))
    flags = None
    if any(part.eligible is not None for part in kept):
        flags = np.ascontiguousarray(np.concatenate([np.asarray(part.eligible) for part in kept]))
    columns = [(name, np.concatenate([part.columns[name] for part in kept])) for name in first.columns]
    return x, ids, flags, columns
