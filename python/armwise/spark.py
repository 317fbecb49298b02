"""Choosing from and learning from Spark's tables: the same decisions and models as on one machine, to the bit.

    import armwise.spark as aws
    sends = aws.choose(policy, customers, id="customer", features=["age", "spent"], constraint=constraint, round=12)
    policy = aws.learn(policy, sends.join(responses, "decision"))

Spark and pyarrow come with the cluster; armwise must be installed where the executors run. Only the DataFrame
interface is used, so Spark Connect works, and a task that Spark runs twice counts once: what it finds is its result.

A choice reads the table once or twice: a sample of it guesses the score that an arm must reach, each partition gives
its candidates, and from these the driver decides. The answer proves the guess; only if it was wrong is the table read
once more. So the driver's memory grows with the candidates, not with the rows.
"""

from __future__ import annotations

import copy
import logging
import os
import pickle
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import _armwise, _tables, _values
from ._native import resolve
from ._spark_tasks import SCHEMA, CampaignTask, PolicyTask, Task
from .campaign import Campaign
from .constraints import AnyConstraint, Constraint
from .decision import Decision
from .parts import Choice, Kept
from .policy import Policy

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

__all__ = ["Table", "choose", "decide", "learn"]

AnyPolicy = TypeVar("AnyPolicy", bound=Policy)

#: Progress is told here.
LOG = logging.getLogger("armwise.spark")

#: Rows of the sample that guesses the floors.
SAMPLE = 1 << 16
#: Fewer rows than this many samples are read without one.
WORTHWHILE = 4
#: A partition that is this many times larger than the others makes them wait.
LOPSIDED = 8


def choose(
    policy: Policy | None = None,
    df: DataFrame | None = None,
    *,
    campaign: Campaign | str | os.PathLike[str] | None = None,
    id: str | None = None,
    features: Sequence[str] | str | None = None,
    constraint: AnyConstraint | None = None,
    k: int | None = None,
    eligible: str | Sequence[str] | None = None,
    round: int | None = None,
    unique: bool = False,
    key: str | None = None,
    again: bool = False,
) -> DataFrame:
    """The chosen rows as a table: decision, round, the id column, block, mean, width, draw, score, features.

    It takes what `decide` takes. `decision` names the row of the table (`r12-17`: the 17th of round 12), so that
    responses can be joined to it.

    With a `campaign`, a file on the driver, there is no policy: `aws.choose(campaign="spring.armwise", df=customers)`
    chooses by the campaign's recipe, limits, hold-out and rest, appends the round to its journal and gives its sends.
    The columns are the table's own; `learn`, `why`, `report` and `verify` go on as ever. A request with a `key` can be
    sent again. While nothing at all was heard of the last round, another one needs `again`. The hold-out of the round
    is `Campaign.open(...).hold_out(round)`.
    """
    if df is None:
        raise TypeError("give a table, df=...")
    if campaign is not None:
        others = (policy, id, features, constraint, k, eligible)
        if any(other is not None for other in others):
            raise TypeError("a campaign has its own rules: give df, and perhaps round, unique, key and again")
        of = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
        sends = of.choose(Table(df, unique=unique), round=round, key=key, again=again).sends
        return df.sparkSession.createDataFrame(sends.to_arrow())
    if policy is None or id is None or features is None or key is not None or again:
        raise TypeError("give policy, df, id and features; or campaign and df, and perhaps a key")
    made = decide(
        policy, df, id=id, features=features, constraint=constraint, k=k, eligible=eligible, round=round, unique=unique
    )
    return df.sparkSession.createDataFrame(_table(made, id, dict(df.dtypes)[id]))


def decide(
    policy: Policy,
    df: DataFrame,
    *,
    id: str,
    features: Sequence[str] | str,
    constraint: AnyConstraint | None = None,
    k: int | None = None,
    eligible: str | Sequence[str] | None = None,
    round: int | None = None,
    unique: bool = False,
) -> Decision:
    """The decision of a round, as `policy.choose` makes it from the same rows on one machine.

    `id` is a column of integers or strings; `features` are columns of numbers, or one column of arrays; `eligible` is a
    column of true and false, or one for each block. A constraint names columns by itself. `round` is the number of the
    round; unless it is given, it is the policy's next one. Say `unique=True` if ids certainly appear once each: the
    search for duplicates moves all ids between the machines.
    """
    wanted = resolve(constraint, k)
    names = wanted.columns() if isinstance(wanted, Constraint) else []
    flags = [eligible] if isinstance(eligible, str) else list(eligible or ())
    picked = [features] if isinstance(features, str) else list(features)
    _columns_exist(df, [id, *picked, *flags, *names])
    grouped = {group.column for group in getattr(wanted, "groups", ())} - {"block"}
    groups = {name: _values_of(df, name, flags) for name in sorted(grouped)}
    known = policy._learner is not None
    dim = None if known or not isinstance(features, str) else _length_of_lists(df, features)
    choice = Choice.of(
        policy,
        ids=id,
        features=features,
        constraint=constraint,
        k=k,
        eligible=eligible,
        groups=groups,
        t=None if round is None else _values.whole(round, "round"),
        dim=dim,
    )
    table = df.select(*choice.needs)
    if not unique:
        _refuse_duplicates(table, id)
    choice = _guessed(choice, table)
    decision = None
    while decision is None:
        decision, choice = choice.decide(_candidates(choice, table))
        if decision is None:
            LOG.info("the guess from the sample was too high; reading the table once more with certain floors")
    policy.t_ = max(policy.t_, choice.t + 1)
    return decision


def learn(policy: AnyPolicy, df: DataFrame, *, reward: str = "reward", id: str | None = None) -> AnyPolicy:
    """A copy of the policy that has learned rewards: of rows that `choose` gave, joined with a column `reward`.

    They are learned in the order of the decisions, whatever the order of the rows, so the model is that of
    `policy.learn` on one machine, to the bit. A row without a reward (null) is not answered yet and is left out; it may
    come later. A
    decision that appears twice, as after a join with repeated responses, is an error.
    """
    columns = df.columns
    name = _id_column(columns) if id is None else id
    _columns_exist(df, ["decision", "round", "block", "features", name, reward])
    rows = _collected(df.select("decision", "round", name, "block", "features", reward).where(df[reward].isNotNull()))
    if rows.num_rows == 0:
        return copy.copy(policy)
    rounds = np.asarray(rows["round"])
    numbers = np.array([_number_of(text, t) for text, t in zip(rows["decision"].to_pylist(), rounds, strict=True)])
    order = np.lexsort((numbers, rounds))
    same = np.flatnonzero((np.diff(rounds[order]) == 0) & (np.diff(numbers[order]) == 0))
    if same.size:
        twice = rows["decision"][int(order[same[0]])].as_py()
        raise ValueError(f"decision {twice!r} appears twice: give each one reward, or take the rows apart")
    rows = rows.take(order)
    learned = copy.copy(policy)
    starts = np.flatnonzero(np.diff(rounds[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], rows.num_rows], strict=True):
        part = rows.slice(int(start), int(end - start)).combine_chunks()
        lists = part["features"].combine_chunks()
        x = np.asarray(lists.flatten(), dtype=np.float64).reshape(part.num_rows, -1)
        ids = _tables.keys(np.asarray(part[name].to_pylist()))
        blocks = part["block"].to_pylist()
        t = int(rounds[order][start])
        made = _armwise.decision_of_rows(learned.seed_, t, ids, blocks, np.ascontiguousarray(x))
        learned.learn(Decision(made), np.asarray(part[reward], dtype=np.float64))
    LOG.info("learned %d rewards of %d rounds", rows.num_rows, len(starts))
    return learned


class Table:
    """A table of Spark's, as `Campaign.choose` takes it: `campaign.choose(aws.Table(df))`.

    Its rows stay where they are. Each partition gives the rows that may be chosen, and the campaign chooses from these.
    """

    #: The native half knows by this that the rows are elsewhere.
    __armwise_elsewhere__ = True

    def __init__(self, df: DataFrame, *, unique: bool = False) -> None:
        self._df = df
        self._checked = unique

    @property
    def empty(self) -> pyarrow.Table:
        """The columns, without rows."""
        return _collected(self._df.limit(0))

    def sample(self, columns: list[str], rows: int, large: int) -> tuple[pyarrow.Table, int] | None:
        """About so many rows from all over the table, and how many it has; none unless it has `large` times as many."""
        _columns_exist(self._df, columns)
        every = self._df.count()
        return (_sample(self._df.select(*columns), rows, every), every) if every >= large * rows else None

    def candidates(self, plan: str, columns: list[str], customer: str) -> list[tuple[pyarrow.Table | None, str]]:
        """The rows of each partition that may be chosen, and the counts of all of its rows."""
        import pyarrow

        _columns_exist(self._df, columns)
        table = self._df.select(*columns)
        if not self._checked:
            _refuse_duplicates(table, customer)
            self._checked = True
        found = _run(table, CampaignTask(plan))
        return [(None if rows is None else pyarrow.ipc.open_stream(rows).read_all(), counts) for rows, counts in found]

    def digest(self) -> str:
        """A text that follows from the content, whatever the order of the rows."""
        from pyspark.sql import functions as f

        hashes = f.xxhash64(*[f.col(name) for name in sorted(self._df.columns)]).cast("decimal(38,0)")
        sums = self._df.agg(f.count(f.lit(1)), f.sum(hashes), f.bit_xor(hashes.cast("bigint"))).collect()[0]
        return f"{sorted(self._df.dtypes)} {tuple(sums)}"


def _run(table: DataFrame, task: Task) -> list[Any]:
    """What the task finds in each partition, in the order of the partitions, whichever task ended first."""
    found = _collected(table.mapInArrow(task.__call__, SCHEMA))
    for partition, error in zip(found["partition"].to_pylist(), found["error"].to_pylist(), strict=True):
        if error is not None:
            raise ValueError(f"partition {partition}: {error}")
    order = np.argsort(np.asarray(found["partition"]), kind="stable")
    return [pickle.loads(found["found"][int(place)].as_py()) for place in order]


def _candidates(choice: Choice, table: DataFrame) -> list[Kept]:
    began = time.monotonic()
    kept: list[Kept] = _run(table, PolicyTask(choice))
    rows = [part.rows for part in kept]
    seconds = time.monotonic() - began
    LOG.info("%d rows in %d partitions, %d candidates, %.1f s", sum(rows), len(rows), sum(map(len, kept)), seconds)
    usual = (sum(rows) - max(rows, default=0)) // max(1, len(rows) - 1)
    if len(rows) > 1 and max(rows) > max(SAMPLE, LOPSIDED * usual):
        text = f"one partition has {max(rows)} of {sum(rows)} rows, and the others wait for it: df.repartition(n) helps"
        warnings.warn(text, UserWarning, stacklevel=4)
    return kept


def _guessed(choice: Choice, table: DataFrame) -> Choice:
    rows = table.count()
    if rows < WORTHWHILE * SAMPLE:
        return choice
    sample = _sample(table, SAMPLE, rows)
    LOG.info("a sample of %d of %d rows", sample.num_rows, rows)
    return choice.guess(sample, sample.num_rows / rows)


def _sample(table: DataFrame, rows: int, every: int) -> pyarrow.Table:
    """About so many rows from all over the table. Spark draws them before they leave the JVM. (To read only the first
    rows of each partition would save no time: Spark kills and starts the Python workers that stop early.)"""
    return _collected(table.sample(fraction=min(1.0, rows / every), seed=every))


def _refuse_duplicates(table: DataFrame, id: str) -> None:
    from pyspark.sql import functions as f

    missing = table.where(f.col(id).isNull()).limit(1)
    twice = table.groupBy(id).count().where("count > 1").limit(1).select(id, "count")
    for row in twice.collect():
        if row[0] is not None:
            raise ValueError(
                f"id {row[0]!r} appears in {row[1]} rows of column {id!r}: each row needs an id of its own"
            )
    if missing.count() > 0:
        raise ValueError(f"column {id!r}: an id is missing")


def _values_of(df: DataFrame, name: str, flags: list[str]) -> dict[Any, bool]:
    """The values of a column that a group names, and whether one of its rows is eligible."""
    from pyspark.sql import functions as f

    any_flag = f.lit(True)
    if flags:
        any_flag = f.coalesce(f.col(flags[0]), f.lit(False))
        for flag in flags[1:]:
            any_flag = any_flag | f.coalesce(f.col(flag), f.lit(False))
    found = df.groupBy(name).agg(f.max(any_flag.cast("int")).alias("eligible")).collect()
    return {
        row[0]: bool(row[1]) for row in sorted(found, key=lambda row: (row[0] is None, row[0])) if row[0] is not None
    }


def _length_of_lists(df: DataFrame, name: str) -> int:
    first = df.select(name).where(df[name].isNotNull()).limit(1).collect()
    if not first:
        raise ValueError("there are no rows to choose from")
    if not isinstance(first[0][0], list):
        return 1
    return len(first[0][0])


def _columns_exist(df: DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in df.columns:
            raise KeyError(f"the table has no column {name!r}; it has {', '.join(df.columns)}")


def _collected(df: DataFrame) -> pyarrow.Table:
    """The rows on the driver."""
    import pyarrow

    if hasattr(df, "toArrow"):
        return df.toArrow()
    # Spark 3.
    return pyarrow.Table.from_pandas(df.toPandas(), preserve_index=False)


def _id_column(columns: Sequence[str]) -> str:
    """The id column of the table that `choose` made: the third, after decision and round."""
    place = list(columns).index("round") if "round" in columns else -1
    if place < 0 or place + 1 >= len(columns):
        raise KeyError("the table has no column 'round' followed by the ids; name the column of ids with id=...")
    return columns[place + 1]


def _number_of(decision: str, t: int) -> int:
    head, _, number = str(decision).partition("-")
    if head != f"r{t}" or not number.isdecimal():
        raise ValueError(f"decision {decision!r} in round {t}: expected r{t}- and a number, as choose wrote it")
    return int(number)


def _table(made: Decision, id: str, kind: str) -> pyarrow.Table:
    import pyarrow

    numbers = range(1, len(made) + 1)
    dim = made.features.shape[1]
    offsets = np.arange(0, (len(made) + 1) * dim, dim, dtype=np.int32) if dim else np.zeros(len(made) + 1, np.int32)
    types = {"string": pyarrow.string(), "int": pyarrow.int32(), "smallint": pyarrow.int16(), "tinyint": pyarrow.int8()}
    return pyarrow.table(
        {
            "decision": [f"r{made.t}-{number}" for number in numbers],
            "round": pyarrow.array(np.full(len(made), made.t, np.int64)),
            id: pyarrow.array(made.ids.tolist(), types.get(kind, pyarrow.int64())),
            "block": pyarrow.array(made.blocks),
            "mean": made.means,
            "width": made.widths,
            "draw": pyarrow.array(made.draws, from_pandas=True),
            "score": made.scores,
            "features": pyarrow.ListArray.from_arrays(offsets, made.features.ravel()),
        }
    )
