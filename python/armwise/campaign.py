"""Campaigns: the weekly loop on real tables, in one durable file; the same core as the command `armwise`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from . import _armwise, _html
from .evaluation import Ranked, described
from .loading import parse
from .policy import Policy

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: A table of rows: a path to Parquet, CSV (also gz), TSV, xlsx or Arrow IPC, or anything with `__arrow_c_stream__`.
Rows = Any
#: The rules: a path to a TOML file, or a dictionary of the same keys.
Rules = str | os.PathLike[str] | Mapping[str, Any]


class Reading(TypedDict, total=False):
    """How a table in a file is read, where the file and the campaign's rules (`tables`) do not tell."""

    #: The format where the extension does not tell: "parquet", "csv", "tsv", "xlsx" or "arrow".
    format: str | None
    #: What separates columns of text: ",", ";" or "tab".
    separator: str | None
    #: The decimal mark of numbers in text: "." or ",".
    decimal: str | None
    #: The encoding of text that is not UTF-8: "latin-1", "utf-16le" or "utf-16be".
    encoding: str | None
    #: The sheet of a workbook that has several.
    sheet: str | None


class CampaignError(Exception):
    """A campaign could not do what it was asked; nothing has changed."""


class InputError(CampaignError, ValueError):
    """The table, the rules or a value cannot be used."""


class NotFoundError(CampaignError, LookupError):
    """The campaign, a round or a customer does not exist."""


class ConflictError(CampaignError):
    """The request contradicts what is there: a round that was chosen, a file that exists."""


class StorageError(CampaignError, OSError):
    """The file cannot be read or written, or is damaged."""


class LockedError(StorageError):
    """Another process writes to the campaign at this moment; try again when it is done."""


class Sheet:
    """A small table, as a campaign gives them: sends, rejects, results."""

    __slots__ = ("_native",)

    def __init__(self, native: _armwise.Sheet) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    def __len__(self) -> int:
        return len(self._native)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow stream: `pyarrow.table(sheet)`, `polars.DataFrame(sheet)`, DuckDB."""
        return self._native.export()

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame; needs pyarrow, too."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """A polars frame."""
        import polars

        return polars.DataFrame(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, CSV, xlsx or Parquet by its extension; it gets its name only when it is complete."""
        self._native.write(os.fspath(path))

    def __repr__(self) -> str:
        return f"Sheet(rows={len(self)}, columns={self.columns})"


@dataclass(frozen=True, eq=False)
class Chosen:
    """A chosen round."""

    #: The round's number.
    round: int
    #: Who gets what, with the id of each decision: a row per send.
    sends: Sheet
    #: Whom of the hold-out the same rules would have chosen: not contacted, but uplift needs their outcomes too.
    hold_out: Sheet
    #: The numbers of the round: sends by promotion, expected reward, exploration, prices, warnings.
    summary: dict[str, Any]

    def _repr_html_(self) -> str:
        rows = [(name, value) for name, value in self.summary.items() if isinstance(value, int | float | str)]
        return _html.table(f"round {self.round}", ["", ""], rows, len(rows))


@dataclass(frozen=True, eq=False)
class Learned:
    """What became of a table of responses."""

    #: Rows that were read.
    rows: int
    #: Rows that changed something.
    applied: int
    #: Rows that were known already.
    repeated: int
    #: Rows that were put aside, and `rejects` says why.
    rejected: int
    #: The rows put aside, with their line and the reason.
    rejects: Sheet
    #: All numbers, with the hash of the model.
    summary: dict[str, Any]


class Campaign:
    """A campaign in its file: choose who gets which promotion, learn from answers that come late, and say why.

    Nothing is held between calls. Each call opens the file, so its lock is taken only while something is written
    (`LockedError` if another process is writing), and the command `armwise` and other processes may use it in between.

    >>> import armwise as aw, os, tempfile
    >>> import polars as pl
    >>> people = pl.DataFrame({"customer": ["ann", "bob", "cem", "dora"], "age": [31, 47, 25, 62]})
    >>> path = os.path.join(tempfile.mkdtemp(), "spring.armwise")
    >>> rules = {"customer": "customer", "promotion": [{"name": "mail", "quota": 2}]}
    >>> campaign = aw.Campaign.init(path, people, rules)
    >>> week = campaign.choose(people)
    >>> week.round, len(week.sends)
    (1, 2)
    >>> answers = week.sends.to_polars().select("decision", reward=pl.lit(1.0))
    >>> campaign.learn(answers).applied
    2
    >>> aw.Campaign.open(path).status()["rounds"][0]["answered"]
    2
    """

    __slots__ = ("_native", "begun", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        #: The campaign's file.
        self.path = os.fspath(path)
        self._native = _armwise.Campaign(self.path)
        #: What `init` made: features, the sample they were fitted on, columns left out; None unless it was just made.
        self.begun: dict[str, Any] | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Campaign:
        """A campaign that exists."""
        return cls(path)

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str],
        table: Rows,
        rules: Rules,
        *,
        learner: Policy | str | os.PathLike[str] | None = None,
        **reading: Unpack[Reading],
    ) -> Campaign:
        """Begins a campaign: fits the features on a table of customers and makes the file, which must not exist.

        The rules are those of campaign.toml: the path of such a file, or a dictionary of the same keys. A campaign can
        begin with what another campaign's `policy()` has learned, or a file of its `save`: with its features, too.
        How a table in a file is read (`Reading`) is kept for those of later weeks.
        """
        begun = _armwise.Campaign.init(
            os.fspath(path), _rows(table), _reading(reading), _rules(rules), _learner(learner)
        )
        made = cls(path)
        made.begun = begun
        return made

    def choose(
        self,
        table: Rows,
        *,
        round: int | None = None,
        seed: int | None = None,
        dry_run: bool = False,
        key: str | None = None,
        again: bool = False,
        **reading: Unpack[Reading],
    ) -> Chosen:
        """Chooses the next round, or the one numbered `round`, from a table of customers. When it returns, the round is
        on the disk; `sends(round)` gives its sends again at any time. With `dry_run` nothing is written.

        A request with a `key` can be sent again after any failure: it gets the same round, which is chosen once. While
        the last round has no outcome at all, another one is refused (`ConflictError`) unless `again` asks for it.
        """
        summary, sends, hold_out = self._native.choose(
            _rows(table), _reading(reading), round, seed, dry_run, key, again
        )
        return Chosen(summary["round"], Sheet(sends), Sheet(hold_out), summary)

    def learn(
        self,
        table: Rows,
        *,
        round: int | None = None,
        only_responders: float | None = None,
        customer_column: str | None = None,
        reward_column: str | None = None,
        examined_column: str | None = None,
        logged: bool = False,
        key: str | None = None,
        **reading: Unpack[Reading],
    ) -> Learned:
        """Learns rewards: late, in parts, in any order, repeated; each is counted once. Columns: `decision` (or the
        customer, with `promotion` and `round` where needed), `reward` and, for places that may not be looked at,
        `examined`, the probability that this one was (1 where it is missing); or those named here. With
        `only_responders` the table lists who answered, each answer worth that much. Bad rows are put aside and the good
        ones applied.

        With `logged` the table is a log of past sends, learned before the first round: the customers' columns,
        `promotion`, `reward` and, if they are known, `examined` and `probability`, that with which a row was sent."""
        if logged and (round is not None or only_responders is not None):
            raise InputError("a log of past sends belongs to no round and has rewards of its own")
        columns = (customer_column, reward_column, examined_column)
        return self._learn("logged" if logged else "learn", table, reading, round, only_responders, columns, key)

    def correct(
        self,
        table: Rows,
        *,
        round: int | None = None,
        customer_column: str | None = None,
        reward_column: str | None = None,
        examined_column: str | None = None,
        key: str | None = None,
        **reading: Unpack[Reading],
    ) -> Learned:
        """Changes rewards that were learned before, and the probability that a row was looked at with them: 1 where
        `examined` is missing."""
        columns = (customer_column, reward_column, examined_column)
        return self._learn("correct", table, reading, round, None, columns, key)

    def undelivered(
        self,
        table: Rows,
        *,
        round: int | None = None,
        customer_column: str | None = None,
        key: str | None = None,
        **reading: Unpack[Reading],
    ) -> Learned:
        """Marks sends that did not arrive: they are never learned as silence."""
        return self._learn("undelivered", table, reading, round, None, (customer_column, None, None), key)

    def _learn(
        self,
        kind: str,
        table: Rows,
        reading: Reading,
        round: int | None,
        worth: float | None,
        columns: tuple[str | None, str | None, str | None],
        key: str | None,
    ) -> Learned:
        summary, rejects = self._native.learn(kind, _rows(table), _reading(reading), round, worth, columns, key)
        rows, applied, repeated, rejected = (summary[name] for name in ("rows", "applied", "repeated", "rejected"))
        return Learned(rows, applied, repeated, rejected, Sheet(rejects), summary)

    def close(self, round: int, *, key: str | None = None) -> dict[str, Any]:
        """Ends a round's response window: silence becomes the default reward; that of the hold-out only if the rules
        say so (`uplift.silence`), otherwise its outcomes can come later too."""
        return self._native.close(round, key)

    def revoke(self, round: int, *, key: str | None = None) -> dict[str, Any]:
        """Takes a round back that was never sent: no rewards, no rest, no hold-out."""
        return self._native.revoke(round, key)

    def amend(self, rules: Rules, *, key: str | None = None) -> dict[str, Any]:
        """Changes the rules from the next round on, new and retired promotions included; what was learned stays."""
        return self._native.amend(_rules(rules), key)

    def refit(self, table: Rows, rules: Rules, *, key: str | None = None, **reading: Unpack[Reading]) -> dict[str, Any]:
        """Fits the features of these rules on a table and expresses everything that was learned under them."""
        return self._native.refit(_rows(table), _reading(reading), _rules(rules), key)

    def status(self) -> dict[str, Any]:
        """Where the rounds stand, with the hashes of the model and of the journal."""
        return self._native.status()

    def why(
        self,
        customer: str,
        *,
        round: int | None = None,
        table: Rows | None = None,
        **reading: Unpack[Reading],
    ) -> dict[str, Any]:
        """Why a customer was chosen in a round, or was not; for one who was not, the round's table is needed."""
        return self._native.why(customer, round, None if table is None else _rows(table), _reading(reading))

    def report(self, html: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """What was sent, what came back and what was learned; with `html`, also as a page at that path."""
        return self._native.report(None if html is None else os.fspath(html))

    def evaluate(
        self,
        policies: Sequence[Policy],
        tables: Rows | Mapping[int, Rows] | None = None,
        *,
        level: float = 0.95,
        html: str | os.PathLike[str] | None = None,
        **reading: Unpack[Reading],
    ) -> Ranked:
        """What these policies would have earned in the past rounds, with what was known before each; ranked, with
        intervals, beside what was earned. With `html`, also as a page at that path. The answer is a dictionary;
        `to_pandas()` and `to_polars()` give its policies as a table.

        What the rounds were chosen from is needed, for the features of those who were not chosen: the candidates that
        the campaign kept (`keep_candidates = true` in its rules), or the tables: a folder in which the last number of a
        file's name is its round, a dictionary of tables by round, or one table that served every round.
        """
        found = self._native.evaluate(
            described(policies), _past(tables), _reading(reading), level, None if html is None else os.fspath(html)
        )
        return Ranked(found)

    def advise(
        self,
        table: Rows,
        candidates: Sequence[Policy] = (),
        *,
        tables: Rows | Mapping[int, Rows] | None = None,
        rounds: int = 8,
        trials: int = 32,
        **reading: Unpack[Reading],
    ) -> Ranked:
        """Which algorithm to choose with: candidates compete in worlds fitted to the customers of a table and to the
        answers so far, those of past sends included. `recommendation` and `reason` say which, `candidates` by how much,
        `unknown` what this cannot know; with `tables`, as for `evaluate`, or with kept candidates, `evaluated` is what
        past rounds say. The answer is a dictionary; `to_pandas()` and `to_polars()` give its candidates as a table."""
        return Ranked(
            self._native.advise(_rows(table), _reading(reading), described(candidates), _past(tables), rounds, trials)
        )

    def verify(self) -> dict[str, Any]:
        """Checks all of the file against its journal: `good`, and if not, `findings` with what can be recovered."""
        return self._native.verify()

    def backup(self, to: str | os.PathLike[str]) -> dict[str, Any]:
        """Copies the campaign into a new file, also while it is in use; a plain copy would miss entries."""
        return self._native.backup(os.fspath(to))

    def sends(self, round: int) -> Sheet:
        """The sends of a round, as `choose` gave them."""
        return Sheet(self._native.sends(round))

    def hold_out(self, round: int) -> Sheet:
        """The hold-out of a round, as `choose` gave it."""
        return Sheet(self._native.hold_out(round))

    def results(self, round: int | None = None) -> Sheet:
        """All decisions of a round, or of all rounds, with what became of them."""
        return Sheet(self._native.results(round))

    def logged(self) -> Sheet:
        """What `learn(logged=True)` learned, with the probabilities."""
        return Sheet(self._native.logged())

    def policy(self) -> Policy:
        """What was learned so far, as a policy."""
        return parse(self._native.learner())

    def __repr__(self) -> str:
        return f"Campaign({self.path!r})"


def explain(key: str | None = None) -> str:
    """What a key of the rules says, its default, its range and an example; all keys unless one is given.

    >>> from armwise.campaign import explain
    >>> print(explain("limits.rest").splitlines()[0])
    limits.rest: for how many rounds a customer rests after a send
    """
    return _armwise.explain(key)


def draft(table: Rows, rules: Rules, **reading: Unpack[Reading]) -> str:
    """The rules that a table suggests, as TOML with comments, and with questions about columns that look like outcomes.
    `rules` names at least the customer's column and the promotions."""
    return _armwise.draft(_rows(table), _reading(reading), _rules(rules))


def _rows(table: Rows) -> Any:
    """A path, or a table that exports Arrow. The index of a pandas frame is not a column, and stays out."""
    if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "reset_index"):
        return table.reset_index(drop=True)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__armwise_elsewhere__"):
        return table
    if isinstance(table, str | os.PathLike):
        return os.fspath(table)
    raise TypeError(
        f"a table is a path or has __arrow_c_stream__, as frames of pandas and polars do, not {type(table)}"
    )


def _past(tables: Rows | Mapping[int, Rows] | None) -> tuple[str | None, list[tuple[int, Any]]] | None:
    """A path, or tables by round; round 0 is every round."""
    if tables is None:
        return None
    if isinstance(tables, str | os.PathLike):
        return os.fspath(tables), []
    if isinstance(tables, Mapping):
        return None, [(round, _rows(table)) for round, table in tables.items()]
    return None, [(0, _rows(tables))]


def _reading(reading: Reading) -> tuple[str | None, ...]:
    """What is said of how to read a table, in the order of `Reading`."""
    unknown = set(reading) - set(Reading.__annotations__)
    if unknown:
        raise TypeError(f"unknown argument {sorted(unknown)[0]!r}")
    return tuple(reading.get(name) for name in Reading.__annotations__)  # type: ignore[misc]


def _rules(rules: Rules) -> tuple[str, str]:
    """A name for messages, and TOML."""
    if isinstance(rules, Mapping):
        return "the rules", "".join(f"{_toml(str(name))} = {_toml(value)}\n" for name, value in rules.items())
    with open(rules, encoding="utf-8") as file:
        return os.fspath(rules), file.read()


def _toml(value: Any) -> str:
    """A value as TOML, in one line."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, Mapping):
        pairs = (f"{_toml(str(name))} = {_toml(inner)}" for name, inner in value.items() if inner is not None)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool | str | int | float):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise InputError(f"the rules: {value!r} cannot be written as TOML")


def _learner(learner: Policy | str | os.PathLike[str] | None) -> tuple[str, str] | None:
    """A name for messages, and a saved learner."""
    if learner is None:
        return None
    if isinstance(learner, Policy):
        return type(learner).__name__, learner._text()
    with open(learner, encoding="utf-8") as file:
        return os.fspath(learner), file.read()
