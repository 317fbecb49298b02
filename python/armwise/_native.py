"""Constraints as the native half takes them, and its answers in the user's words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _armwise, _values
from ._armwise import InfeasibleError
from .constraints import (
    AnyConstraint,
    Assignment,
    Budget,
    Constraint,
    Explicit,
    Group,
    Linear,
    Oracle,
    Quotas,
    TopK,
    _made,
)

if TYPE_CHECKING:
    from ._arms import Arms


#: The constraints by their kind.
KINDS: dict[str, type[Constraint]] = {
    constraint.kind: constraint for constraint in (TopK, Assignment, Quotas, Budget, Linear, Explicit)
}


def resolve(constraint: AnyConstraint | None, k: int | None) -> int | Constraint | Oracle:
    """What was given as a number, a constraint or a function."""
    if (constraint is None) == (k is None):
        raise TypeError("give either k or constraint")
    if k is not None:
        return _values.whole(k, "k", least=1)
    if isinstance(constraint, Constraint):
        return constraint
    if isinstance(constraint, Mapping):
        fields = dict(constraint)
        kind = fields.pop("kind", None)
        if kind not in KINDS:
            raise ValueError(f"constraint of kind {kind!r}: the kinds are {', '.join(KINDS)}")
        return _made(KINDS[kind], fields, f"constraint of kind {kind!r}")
    if callable(constraint):
        return constraint
    raise TypeError(f"constraint must be a Constraint, a dictionary or a function, not {type(constraint).__name__}")


def native(constraint: int | Constraint | Oracle, arms: Arms) -> int | str | Oracle:
    """What the native half takes, which is k itself, JSON or a function."""
    grouped = [group.column for group in constraint.groups] if isinstance(constraint, Quotas | Assignment) else []
    for name in arms.labels:
        if name not in grouped:
            raise TypeError(f"column {name!r} holds strings: only a Group can refer to strings")
    if isinstance(constraint, Quotas | Assignment):
        groups = [made for group in constraint.groups for made in _groups(group, arms)]
        constraint = dataclasses.replace(constraint, groups=groups)
    return constraint.to_json() if isinstance(constraint, Constraint) else constraint


def scoped(offered: Any, columns: list[str], constraint: int | Constraint | Oracle) -> Any:
    """What is offered, with numbers for the strings of the columns by which arms share their draws: equal strings have
    equal numbers in every table and part."""
    arms = offered.arms
    texts = [name for name in columns if name in arms.labels]
    if not texts:
        return offered
    for name in texts:
        refuse_strings_for_both(name, constraint)
    columns_of = [
        (name, in_numbers(arms.labels[name], values) if name in texts else values) for name, values in arms.columns
    ]
    labels = {name: labels for name, labels in arms.labels.items() if name not in texts}
    return offered._replace(arms=arms._replace(columns=columns_of, labels=labels))


def refuse_strings_for_both(name: str, constraint: int | Constraint | Oracle) -> None:
    """Refuses a column of strings that both a group of the constraint and the scope of draws name."""
    if isinstance(constraint, Constraint) and name in constraint.columns():
        raise TypeError(
            f"column {name!r} holds strings, and both the constraint and the policy's scope name it: "
            "give a second column for the scope, or numbers"
        )


def in_numbers(labels: list[str], codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers of strings, given as places in a list of labels; a missing one is 0."""
    numbers = np.array([*_armwise.numbers_of(labels), 0.0])
    return np.ascontiguousarray(numbers[np.where(np.isnan(codes), len(labels), codes).astype(np.int64)])


def _groups(group: Group, arms: Arms) -> list[Group]:
    """A group with numbers for strings; with it, where every value makes a group with a minimum, the values of which no
    arm is eligible: for these the library, which sees eligible arms only, would make none."""
    found = next((values for name, values in arms.columns if name == group.column), None)
    if found is None:
        return [group]
    labels, values = arms.labels.get(group.column), group.values()
    if values is not None:
        of_strings = [isinstance(value, str) for value in values]
        if any(of_strings) != all(of_strings) or any(of_strings) != (labels is not None):
            holds = "numbers" if labels is None else "strings"
            raise TypeError(f"Group.value = {group.value!r}, but column {group.column!r} holds {holds}")
        known: Any = labels if labels is not None else np.unique(found)
        for value in values:
            if value not in known:
                some = ", ".join(str(one) for one in known[:10]) + (", ..." if len(known) > 10 else "")
                raise ValueError(f"no arm has {group.column} = {value!r}; the column has {some}")
        if labels is not None:
            values = [float(labels.index(value)) for value in values]
        return [dataclasses.replace(group, value=values if len(values) != 1 else values[0])]
    if arms.eligible is None or not (group.min or group.exactly):
        return [group]
    eligible = arms.eligible
    if found.ndim < eligible.ndim:
        eligible = np.asarray(eligible.any(axis=1))
    elif found.ndim > eligible.ndim:
        eligible = np.broadcast_to(eligible[:, None], found.shape)
    if eligible.shape != found.shape:
        return [group]
    nobody = np.setdiff1d(found, found[eligible])
    return [group, *(dataclasses.replace(group, value=float(value)) for value in nobody if np.isfinite(value))]


def relabelled(text: str, labels: Mapping[str, list[str]]) -> str:
    """A text in which the groups of columns of strings are called by these."""
    for column, names in labels.items():
        of = re.compile(rf"(?<!\w){re.escape(column)} = (\[[^\]]*\]|\d+)")
        text = of.sub(lambda found: f"{column} = {_named(found[1], names)}", text)  # noqa: B023
    return text


def named(error: InfeasibleError, labels: Mapping[str, list[str]]) -> InfeasibleError:
    """The exception with the groups of columns of strings called by these."""
    if not labels:
        return error
    twin = InfeasibleError(relabelled(str(error), labels))
    twin.reason = error.reason
    return twin


def _named(numbers: str, names: list[str]) -> str:
    listed = [names[int(float(number))] for number in numbers.strip("[]").split(",")]
    return ", ".join(listed)
