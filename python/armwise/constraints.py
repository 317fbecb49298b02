"""What may be chosen together, as data: the same names in Python, TOML and JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _values

OnInfeasible = Literal["error", "fill"]
#: An arm by id or name; in a block other than 0, with the block: `(id, block)`.
Member = int | str | tuple[int | str, int]
#: A function that takes scores (N,) or (N, M) and returns rows, or (rows, blocks).
Oracle = Callable[[NDArray[np.float64]], Any]


T = TypeVar("T")


def _check(of: Any) -> None:
    """Refuses fields of the wrong kind, by their annotations; None stands for what is left out."""
    for item in dataclasses.fields(of):
        value, what = getattr(of, item.name), f"{type(of).__name__}.{item.name}"
        kinds = str(item.type).split(" | ")
        if value is None and "None" in kinds:
            continue
        if kinds[0] == "int" and kinds[1:] in ([], ["None"]):
            _values.whole(value, what)
        elif kinds[0] == "float" and kinds[1:] in ([], ["None"]) and value != "none":
            _values.real(value, what)
        elif kinds[0] == "bool" and not isinstance(value, bool | np.bool_):
            raise TypeError(f"{what} = {value!r}: must be True or False")
        elif kinds[0] == "str" and not isinstance(value, str):
            raise TypeError(f"{what} = {value!r}: must be a string")
        elif kinds[0] == "OnInfeasible" and value not in ("error", "fill"):
            raise ValueError(f'{what} = {value!r}: must be "error" or "fill"')


def _made(kind: type[T], given: Any, what: str) -> T:
    """One of this package's dataclasses, from itself or from a dictionary with its fields."""
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} = {given!r}: must be a {kind.__name__} or a dictionary")
    fields = [item.name for item in dataclasses.fields(kind)]  # type: ignore[arg-type]
    unknown = next((name for name in given if name not in fields), None)
    if unknown is not None:
        raise ValueError(f"{what}: unknown field {unknown!r}; there are {', '.join(fields)}")
    for item in dataclasses.fields(kind):  # type: ignore[arg-type]
        if item.default is item.default_factory is dataclasses.MISSING and item.name not in given:
            raise ValueError(f"{what}: {item.name!r} must be given")
    return kind(**given)


def _all_made(of: Any, name: str, kind: type) -> None:
    """Makes the elements of a field."""
    given = getattr(of, name)
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"{type(of).__name__}.{name} = {given!r}: must be a list")
    made: list[Any] = [
        _made(kind, element, f"{type(of).__name__}.{name}[{place}]") for place, element in enumerate(given)
    ]
    object.__setattr__(of, name, made)


def _member(arm: Any) -> Any:
    if isinstance(arm, str | Mapping):
        return arm
    if isinstance(arm, Sequence):
        key, block = arm
        return {"name" if isinstance(key, str) else "id": _plain(key), "block": int(block)}
    return _plain(arm)


def _plain(value: Any) -> Any:
    """What JSON can hold; fields that are None are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((item.name, getattr(value, item.name)) for item in dataclasses.fields(value))
        return {name: _plain(inner) for name, inner in pairs if inner is not None}
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and math.isinf(value):
        return "none"
    return value


class Constraint:
    """A set of super arms described as data.

    >>> import armwise as aw
    >>> aw.TopK(3).to_json()
    '{"kind": "top-k", "k": 3, "at_most": false, "on_infeasible": "error"}'
    """

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        _check(self)

    def to_json(self) -> str:
        """The constraint as JSON, as Rust and the command line read it."""
        return json.dumps({"kind": self.kind} | _plain(self))

    def columns(self) -> list[str]:
        """The columns that it refers to by name."""
        return []


@dataclass(frozen=True)
class TopK(Constraint):
    """Exactly k arms, or at most k arms with positive scores.

    >>> import armwise as aw
    >>> aw.solve([0.3, 0.9, -0.1], aw.TopK(2)).rows
    array([1, 0])
    >>> aw.solve([0.3, 0.9, -0.1], aw.TopK(3, at_most=True)).rows
    array([1, 0])
    """

    kind: ClassVar[str] = "top-k"
    k: int
    at_most: bool = False
    on_infeasible: OnInfeasible = "error"


@dataclass(frozen=True)
class Quota:
    """From `min` to `max` customers of a promotion; a bound that is left out is no limit."""

    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class Group:
    """The arms whose column has a value (or one of several), and how many of them may be chosen.

    The column holds numbers or strings; `"block"` is the block number. A value that no arm has is an error: it is more
    often misspelt than meant. Without a value, every value of the column makes a separate group with these limits. A
    minimum (`min` or `exactly`) holds for a group whether or not its arms are eligible: with too few eligible members,
    be it one or none, there is no super arm (`InfeasibleError`), unless `on_infeasible="fill"`.

    >>> import armwise as aw
    >>> constraint = aw.Quotas(k=2, groups=[aw.Group("region", value="north", max=1)])
    >>> aw.solve([0.9, 0.8, 0.1], constraint, columns={"region": ["north", "north", "south"]}).rows
    array([0, 2])

    With `block`, only the arms of that block count.
    """

    column: str
    value: float | str | Sequence[float] | Sequence[str] | None = None
    block: int | None = None
    min: int | None = None
    max: int | None = None
    exactly: int | None = None

    def __post_init__(self) -> None:
        _check(self)

    def values(self) -> list[Any] | None:
        """The values as a list; None if every value makes a group."""
        if self.value is None or (isinstance(self.value, Sequence | np.ndarray) and not isinstance(self.value, str)):
            return None if self.value is None else list(self.value)
        return [self.value]


@dataclass(frozen=True)
class Assignment(Constraint):
    """A quota of customers for each promotion, and at most `per_row` promotions for each customer.

    `quotas` is one number (or `Quota`) for all promotions, or a list of one each. With `cost`, the name of a column,
    and `budget`, the chosen arms together cost at most that; the answer then says how far from the best it may be.
    `groups` limits the customers with a value in a column, over all promotions or in one (`Group.block`): exact for
    nested groups; for groups that cross, the answer says how far from the best it may be; `time_limit` is in seconds.

    >>> import armwise as aw
    >>> best = aw.solve([[0.9, 0.8], [0.7, 0.1], [0.2, 0.1]], aw.Assignment(quotas=[1, 1]))
    >>> best.rows, best.blocks, best.objective
    (array([1, 0]), array([0, 1]), 1.5)
    >>> cheap = aw.Assignment(quotas=aw.Quota(max=2), cost="price", budget=3)
    >>> aw.solve([0.9, 0.8, 0.7], cheap, columns={"price": [3, 2, 1]}).rows
    array([1, 2])
    >>> fair = aw.Assignment(quotas=[1, 1], groups=[aw.Group("region", value="north", max=1)])
    >>> aw.solve([[0.9, 0.8], [0.7, 0.1], [0.2, 0.1]], fair, columns={"region": ["north", "north", "south"]}).rows
    array([2, 0])
    """

    kind: ClassVar[str] = "assignment"
    quotas: int | Quota | Sequence[int | Quota]
    per_row: int = 1
    groups: Sequence[Group] = field(default_factory=list)
    on_infeasible: OnInfeasible = "error"
    cost: str | None = None
    budget: float | None = None
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        _check(self)
        _all_made(self, "groups", Group)
        quotas = self.quotas
        many = isinstance(quotas, Sequence | np.ndarray) and not isinstance(quotas, str)
        for place, quota in enumerate(quotas if many else [quotas]):  # type: ignore[arg-type]
            what = f"Assignment.quotas[{place}]" if many else "Assignment.quotas"
            if isinstance(quota, Quota | Mapping):
                _made(Quota, quota, what)
            else:
                _values.whole(quota, what)

    def columns(self) -> list[str]:
        return sorted(
            {*(group.column for group in self.groups), *([] if self.cost is None else [self.cost])} - {"block"}
        )


@dataclass(frozen=True)
class Quotas(Constraint):
    """A minimum, a maximum or an exact number of arms per group and in total; groups are nested or disjoint.

    >>> import armwise as aw
    >>> constraint = aw.Quotas(k=3, groups=[aw.Group("region", value=2, min=1)])
    >>> aw.solve([0.5, 0.4, 0.3, -0.1], constraint, columns={"region": [1, 1, 1, 2]}).rows
    array([0, 1, 3])
    """

    kind: ClassVar[str] = "quotas"
    k: int | None = None
    min: int = 0
    groups: Sequence[Group] = field(default_factory=list)
    on_infeasible: OnInfeasible = "error"

    def __post_init__(self) -> None:
        _check(self)
        _all_made(self, "groups", Group)

    def columns(self) -> list[str]:
        return sorted({group.column for group in self.groups} - {"block"})


@dataclass(frozen=True)
class Budget(Constraint):
    """Arms whose costs stay within a budget in total, within one per block, or both.

    >>> import armwise as aw
    >>> constraint = aw.Budget(cost="price", budget=5, k=2)
    >>> aw.solve([0.9, 0.5, 0.6, 0.1], constraint, columns={"price": [3, 2, 2, 1]}).rows
    array([0, 2])
    """

    kind: ClassVar[str] = "budget"
    cost: str
    budget: float | None = None
    budgets: Sequence[float] | None = None
    k: int | None = None
    per_row: int | None = None

    def columns(self) -> list[str]:
        return [self.cost]


@dataclass(frozen=True)
class Term:
    """The coefficient of one arm in a linear row."""

    arm: Member
    coefficient: float

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class LinearRow:
    """The coefficients of the chosen arms must add up to between `lo` and `hi`."""

    name: str | None = None
    lo: float | None = None
    hi: float | None = None
    column: str | None = None
    every: float = 0.0
    terms: Sequence[Term] = field(default_factory=list)
    block: int | None = None
    per_row: bool = False

    def __post_init__(self) -> None:
        _check(self)
        _all_made(self, "terms", Term)


@dataclass(frozen=True)
class Linear(Constraint):
    """Arbitrary linear rows, by a general solver; for what no other constraint covers. Ctrl-C stops it.

    Ten knapsacks over 500 arms are too much to be solved in seconds: the answer after `time_limit` has a gap, and
    says so.

    >>> import armwise as aw
    >>> rows = [aw.LinearRow(every=1, hi=2), aw.LinearRow(terms=[aw.Term(0, 1), aw.Term(1, 1)], hi=1)]
    >>> aw.solve([0.9, 0.8, 0.1], aw.Linear(rows)).rows
    array([0, 2])
    """

    kind: ClassVar[str] = "linear"
    rows: Sequence[LinearRow]
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        _check(self)
        _all_made(self, "rows", LinearRow)

    def columns(self) -> list[str]:
        return sorted({row.column for row in self.rows if row.column is not None} - {"block"})

    def to_json(self) -> str:
        rows = []
        for row in self.rows:
            plain = _plain(dataclasses.replace(row, terms=[]))
            plain["terms"] = [{"arm": _member(t.arm), "coefficient": float(t.coefficient)} for t in row.terms]
            rows.append(plain)
        return json.dumps({"kind": self.kind, "rows": rows, "time_limit": self.time_limit})


@dataclass(frozen=True)
class Explicit(Constraint):
    """The best of a list of super arms, each a list of arms by id or name.

    >>> import armwise as aw
    >>> aw.solve([0.5, 0.1, 0.7], aw.Explicit([[0, 1], [2], [1, 2]])).rows
    array([2, 1])
    """

    kind: ClassVar[str] = "explicit"
    super_arms: Sequence[Sequence[Member]]

    def to_json(self) -> str:
        lists = [[_member(arm) for arm in super_arm] for super_arm in self.super_arms]
        return json.dumps({"kind": self.kind, "super_arms": lists})


#: Everything that says what may be chosen together.
AnyConstraint = Constraint | Mapping[str, Any] | Oracle
