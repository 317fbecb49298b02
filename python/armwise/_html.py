"""Tables for notebooks. Every text that goes into a page is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

#: A table shows at most so many rows and says how many it leaves out.
MOST = 20


def cell(value: Any) -> str:
    """A value as the text of a cell, escaped."""
    if value is None:
        return ""
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], count: int) -> str:
    """A table of the first of `count` rows, below a title."""
    shown = "".join(
        "<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>"
        for row, _ in zip(rows, range(MOST), strict=False)
    )
    names = "".join(f"<th>{cell(name)}</th>" for name in head)
    rest = f"<caption>and {count - MOST} more</caption>" if count > MOST else ""
    return f"<div><b>{cell(title)}</b><table>{rest}<thead><tr>{names}</tr></thead><tbody>{shown}</tbody></table></div>"


def columns(title: str, values: Mapping[str, Any]) -> str:
    """A table of columns of equal length."""
    count = max((len(column) for column in values.values()), default=0)
    first = [column[:MOST] for column in values.values()]
    rows = zip(*(part.tolist() if hasattr(part, "tolist") else part for part in first), strict=True)
    return table(title, list(values), rows, count)
