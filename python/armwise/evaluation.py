"""What another policy would have earned, from the log of the one that chose."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _armwise, _html
from .constraints import AnyConstraint
from .decision import Decision
from .inclusion import Inclusion
from .policy import Policy

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_Floats = NDArray[np.float64]

#: A probability of the logging policy below this is rounding; below the second it is support in name only.
_IMPOSSIBLE, _THIN = 1e-12, 1e-4
#: Below so many effective arms no interval is to be believed.
_FEW = 30.0


class Evaluation:
    """What a log says about a policy: estimates of the mean reward of a round, with intervals.

    An interval holds for a log that is looked at once (`low` to `high`), or however often it is looked at while it
    grows (`anytime_low` to `anytime_high`). Both hold though the logging policy learned from its own past; nothing is
    resampled. A value is None where the log does not tell it: see `identified` and `unsupported`.
    """

    def __init__(
        self, found: Mapping[str, Any], known: bool = True, by_round: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._found = found
        self._by_round = by_round
        #: How many rounds there are.
        self.rounds: int = found["rounds"]
        #: What the logging policy earned per round.
        self.logged: float = found["logged"]
        #: Whether the log tells the policy's value: it does not where the policy wants what could not be chosen. None
        #: where the log does not say what could have been: then the values hold only if everything could.
        self.identified: bool | None = found["identified"] if known else None
        #: The share of what the policy wants that could not have been chosen; None where that is not known.
        self.unsupported: float | None = found["unsupported"] if known else None
        #: The share that no fresh round of the logging policy chose, where its probabilities are sampled.
        self.unseen: float | None = found["unseen"] if known else None
        #: So many equally weighted arms would tell as much.
        self.effective: float = found["effective"]
        #: The largest weight.
        self.largest_weight: float = found["largest_weight"]
        #: The doubly robust estimate less what the logging policy earned, with its interval (None without one).
        self.gain: float | None = found["gain"]
        self.gain_low, self.gain_high = _ends(found["gain_interval"])
        #: What each block, and each segment where the log has any, adds to a round.
        self.by_block: dict[int, Evaluation] = {}
        self.by_segment: dict[Any, Evaluation] = {}

    def __getitem__(self, estimator: str) -> dict[str, Any]:
        """The estimate by "ips", "snips", "dm" (the model alone), "dr" (both) or "shrunk"."""
        for row in self.rows():
            if row["estimator"] == estimator:
                return row
        known = ", ".join(row["estimator"] for row in self.rows())
        raise KeyError(f"there is no estimator {estimator!r}; there are {known}")

    def rows(self) -> list[dict[str, Any]]:
        """A row per estimator: `value`, its standard error `se`, and the ends of both intervals."""
        rows = []
        for own in self._found["estimates"]:
            row = {"estimator": own["estimator"], "value": own["value"], "se": own["error"]}
            row["low"], row["high"] = _ends(own["interval"])
            row["anytime_low"], row["anytime_high"] = _ends(own["anytime"])
            rows.append(row)
        return rows

    def by_round(self) -> list[dict[str, Any]]:
        """A row per round: its number `t`, what was earned, its terms of "ips", "dm" and "dr", whose means are the
        estimates, and `effective`."""
        return [dict(row) for row in self._by_round]

    def _columns(self) -> dict[str, Any]:
        rows = self.rows()
        names = [name for name in rows[0] if name != "estimator"]
        numbers = {name: [np.nan if row[name] is None else row[name] for row in rows] for name in names}
        return {"estimator": [row["estimator"] for row in rows]} | {
            name: np.asarray(values, dtype=np.float64) for name, values in numbers.items()
        }

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A row per estimator: `pyarrow.table(evaluation)`, `polars.DataFrame(evaluation)`, DuckDB."""
        return _armwise.export(list(self._columns().items()))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table with a row per estimator."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with a row per estimator."""
        import pandas

        return pandas.DataFrame(self._columns()).set_index("estimator")

    def to_polars(self) -> polars.DataFrame:
        """A polars frame with a row per estimator."""
        import polars

        return polars.DataFrame(self)

    def plot(self, ax: Any = None) -> Any:
        """The estimates with their intervals, and what the logging policy earned as a line; needs matplotlib
        (`armwise[plot]`)."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        rows = [row for row in self.rows() if row["value"] is not None]
        for place, row in enumerate(reversed(rows)):
            if row["low"] is not None:
                axes.plot([row["low"], row["high"]], [place, place], color="tab:blue")
            axes.plot([row["value"]], [place], "o", color="tab:blue")
        axes.axvline(self.logged, color="gray", linestyle="--", label="was earned")
        axes.set_yticks(range(len(rows)), [row["estimator"] for row in reversed(rows)])
        axes.set_xlabel("reward of a round")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        value = self["dr"]["value"]
        told = "not identified" if self.identified is False or value is None else f"dr={value:.6g}"
        return f"Evaluation(rounds={self.rounds}, logged={self.logged:.6g}, {told})"

    def _repr_html_(self) -> str:
        rows = self.rows()
        return _html.table(repr(self), list(rows[0]), [list(row.values()) for row in rows], len(rows))


def _ends(interval: Mapping[str, float] | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval["low"], interval["high"])


def evaluate(
    log: Mapping[str, Any] | Sequence[tuple[Any, ...]],
    policy: Policy | ArrayLike,
    *,
    k: int | None = None,
    constraint: AnyConstraint | None = None,
    logging: Policy | None = None,
    estimated_rewards: ArrayLike | None = None,
    features: Callable[[Any], ArrayLike] | None = None,
    level: float = 0.95,
) -> Evaluation:
    """What a policy would have earned per round, from a log of another one.

    The log of a policy of this package is a list of rounds, each the features of all arms, the decision (chosen with
    `probabilities=True`) and its rewards as `learn` takes them; `k` or `constraint` is what was chosen under. The
    policy is asked in every round with what it had learned from the rounds before, beginning with what it knows. What
    `choose` was given beside the features comes as a fourth part of a round, a dictionary of `eligible`, `columns` and
    `ids`; there `segments`, a label for each row, asks for `by_segment`, too.

    What could have been chosen in place of what was, only the logging policy knows. Give it as `logging`, as it was
    before the first of these rounds; it learns along. Without it, a log without draws (`method` "degenerate") is seen
    to tell nothing about what was not chosen, and otherwise `identified` is None: the values hold only if whatever the
    policy wants could have been chosen. `ArmWiseTS` can choose everything, `PC2UCB` cannot.

    A log of one action a round has the shape that the Open Bandit Pipeline calls `bandit_feedback`: `action`, `reward`,
    `pscore`; where there are any `position`, `context`, `action_context`, `n_actions`.

    There the policy is an array of probabilities of shape (rounds, actions), or (rounds, actions, positions), as OBP's
    `action_dist`; or a policy of this package as it stands, which is asked for the probability that it chooses an
    action as the best one. The features of the actions are then `features(context)`, an array of a row per action;
    without it, the round's context beside each row of `action_context`, or `action_context` alone, whichever has as
    many features as the policy.

    `estimated_rewards`, of the shape of the probabilities, is a model of the rewards that was not made from the same
    rounds; without one, a policy of this package gives its own, and an array has none: "dr" is then "ips".

    Rounds with the same past are not assumed: intervals hold for logs of policies that learn. A row without a
    probability, or with one that is 0 or above 1, is refused with its place. Whether such a log has support everywhere
    is seen from `pi_b`, the probabilities of all actions in the shape of the policy's, if the log has it; otherwise
    `identified` is None. Fewer than 30 `effective` arms are warned about.

    >>> import armwise as aw, numpy as np
    >>> log = {"action": [0, 1, 0, 1], "reward": [1.0, 0.0, 1.0, 1.0], "pscore": [0.5, 0.5, 0.5, 0.5]}
    >>> found = aw.evaluate(log, np.full((4, 2), [0.8, 0.2]))
    >>> round(found["ips"]["value"], 6), found.logged
    (0.9, 0.75)

    >>> logging, rounds = aw.ArmWiseTS(v=0.5, seed=1), []
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    >>> for week in range(20):
    ...     d = logging.choose(X, k=2, probabilities=True)
    ...     rewards = X[d.rows, 0]
    ...     rounds.append((X, d, rewards))
    ...     logging.learn(d, rewards)
    >>> found = aw.evaluate(rounds, aw.ArmWiseTS(v=0.2), k=2, logging=aw.ArmWiseTS(v=0.5, seed=1))
    >>> found.rounds, found.identified, found["dr"]["low"] < found["dr"]["value"] < found["dr"]["high"]
    (20, True, True)
    """
    if not isinstance(log, Mapping):
        if not isinstance(policy, Policy):
            raise TypeError("a log of decisions is evaluated for a policy, as aw.ArmWiseTS(v=0.3)")
        return _told(_played(log, policy, k, constraint, logging, level))
    action, reward, pscore = (_column(log, name) for name in ("action", "reward", "pscore"))
    rounds = len(action)
    places = np.arange(rounds)
    actions = _whole(action, "action")
    position = log.get("position")
    positions = np.zeros(rounds, dtype=np.uint64) if position is None else _whole(_column(log, "position"), "position")
    model = None if estimated_rewards is None else np.asarray(estimated_rewards, dtype=np.float64)
    if isinstance(policy, Policy):
        probabilities, own = _asked(log, policy, features, rounds)
        model = own if model is None else model
    else:
        probabilities = np.asarray(policy, dtype=np.float64)
    wants = _of_position(probabilities, positions, rounds, "the policy's probabilities")
    if actions.max() >= wants.shape[1]:
        row = int(actions.argmax())
        raise ValueError(f"row {row}: action {actions[row]} is not among the {wants.shape[1]} of the policy")
    expected = np.zeros_like(wants)
    if model is not None:
        expected = _of_position(model, positions, rounds, "estimated_rewards")
        if expected.shape != wants.shape:
            raise ValueError(f"estimated_rewards has the shape {model.shape}, the probabilities {probabilities.shape}")
    t, zeros, chosen = places.astype(np.uint64), np.zeros(rounds, dtype=np.uint64), actions.astype(np.intp)
    nothing = np.zeros(rounds)
    chances = log.get("pi_b")
    unsupported = thin = nothing
    if chances is not None:
        chances = _of_position(np.asarray(chances, dtype=np.float64), positions, rounds, "pi_b")
        if chances.shape != wants.shape:
            raise ValueError(f"pi_b has the shape {chances.shape}, the probabilities {wants.shape}")
        unsupported, thin = (wants * (chances <= _IMPOSSIBLE)).sum(axis=1), (wants * (chances < _THIN)).sum(axis=1)
    found, by_round = _armwise.evaluate_log(
        ([t, actions, positions, zeros], [reward, pscore, wants[places, chosen], expected[places, chosen]]),
        (
            [t, positions, zeros],
            [wants.sum(axis=1), (wants * expected).sum(axis=1), unsupported, nothing, thin],
        ),
        "shared",
        level,
        ([], []),
    )
    return _told(Evaluation(found[0], chances is not None, by_round))


def _told(found: Evaluation) -> Evaluation:
    """Warns of a log that tells little."""
    if found.identified is not False and found.effective < _FEW:
        text = (
            f"as much is told as by {found.effective:.3g} arms of equal weight; below 30 no interval is to be believed"
        )
        warnings.warn(text, stacklevel=3)
    return found


def _played(
    log: Sequence[tuple[Any, ...]],
    policy: Policy,
    k: int | None,
    constraint: AnyConstraint | None,
    logging: Policy | None,
    level: float,
) -> Evaluation:
    """The evaluation of a policy that learns from the log as it goes."""
    target, own = copy.deepcopy(policy), copy.deepcopy(logging)
    arms: list[list[NDArray[Any]]] = []
    wanted: list[list[NDArray[Any]]] = []
    methods: set[str] = set()
    labels: dict[Any, int] = {}
    for X, decision, rewards, *rest in log:
        if decision.method is None:
            raise ValueError(f"round {decision.t}: the decision has no probabilities; choose with probabilities=True")
        methods.add(decision.method)
        x = np.asarray(X, dtype=np.float64)
        more, segments = _more(rest, decision.t, len(x), labels)
        given = {"constraint": constraint, "t": decision.t, **more}
        wants = target.inclusion(x, k, **given).probabilities.reshape(len(x), -1)
        expected = x @ np.atleast_2d(target.theta_).T
        rows, blocks = decision.rows, decision.blocks
        paid = _paid(decision, rewards)
        unsupported, unseen, thin = _without(decision, wants, None if own is None else own.inclusion(x, k, **given))
        same = np.full(len(rows), decision.t)
        chosen = [wants[rows, blocks].clip(max=1.0), expected[rows, blocks]]
        arms.append([same, rows, blocks, segments[rows], paid, decision.probability, *chosen])
        sums = (wants, wants * expected, wants * unsupported, wants * unseen, wants * thin)
        for segment in np.unique(segments):
            every = np.arange(wants.shape[1])
            key = [np.full(len(every), number) for number in (decision.t, segment)]
            of_segment = [part[segments == segment].sum(axis=0) for part in sums]
            wanted.append([key[0], every, key[1], *of_segment])
        for learner in (target, own):
            if learner is not None:
                learner.learn(decision, rewards)
    if not arms:
        raise ValueError("the log has no rounds; there is nothing to evaluate a policy on")
    of_arms = [np.concatenate(column).astype(np.float64) for column in zip(*arms, strict=True)]
    of_wanted = [np.concatenate(column).astype(np.float64) for column in zip(*wanted, strict=True)]
    # Exact probabilities are those of arms that draw for themselves; how many a constraint chooses may depend on draws.
    design = "shared" if methods - {"exact", "critical-value"} else "independent"
    design = "fixed-counts" if methods == {"exact"} and k is not None else design
    parts = (list(range(target.blocks)) if target.blocks > 1 else [], list(labels.values()))
    found, by_round = _armwise.evaluate_log(
        ([column.astype(np.uint64) for column in of_arms[:4]], of_arms[4:]),
        ([column.astype(np.uint64) for column in of_wanted[:3]], of_wanted[3:]),
        design,
        level,
        parts,
    )
    known = own is not None or methods == {"degenerate"} or not found[0]["identified"]
    whole = Evaluation(found[0], known, by_round)
    of_parts = [Evaluation(part, known) for part in found[1:]]
    whole.by_block = dict(zip(parts[0], of_parts, strict=False))
    whole.by_segment = dict(zip(labels, of_parts[len(parts[0]) :], strict=True))
    return whole


def _more(rest: Sequence[Any], t: int, rows: int, labels: dict[Any, int]) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """What `choose` was given beside the features, and the number of each row's segment; 0 without segments."""
    if len(rest) > 1:
        raise ValueError(f"round {t}: {len(rest) + 3} parts; a round is (X, decision, rewards), or with a dictionary")
    more = dict(rest[0]) if rest else {}
    segments = more.pop("segments", None)
    unknown = set(more) - {"eligible", "columns", "ids"}
    if unknown:
        raise TypeError(f"round {t}: {sorted(unknown)[0]!r} is not one of eligible, columns, ids, segments")
    if segments is None:
        return more, np.zeros(rows, dtype=np.int64)
    names = np.asarray(segments).tolist()
    if len(names) != rows:
        raise ValueError(f"round {t}: {len(names)} segments for {rows} rows")
    return more, np.array([labels.setdefault(name, len(labels) + 1) for name in names], dtype=np.int64)


def _without(
    decision: Decision, wants: _Floats, found: Inclusion | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which arms could not have been chosen, which no fresh round chose, and which hardly ever are."""
    none = np.zeros(wants.shape, dtype=np.bool_)
    place = decision.rows, decision.blocks
    if found is None:
        if decision.method != "degenerate":
            return none, none, none
        left = ~none
        left[place] = False
        return left, none, left
    chances = found.probabilities.reshape(wants.shape)
    sampled = found.replicates > 0
    if not sampled and not np.allclose(chances[place], decision.probability, rtol=1e-5, atol=1e-9):
        arm = int(np.abs(chances[place] - decision.probability).argmax())
        raise ValueError(
            f"round {decision.t}: arm {decision.ids[arm]!r} was chosen with probability"
            f" {decision.probability[arm]:.6g}, but `logging` chooses it with {chances[place][arm]:.6g}: it is not the"
            " policy that chose, or not from these arms"
        )
    never = chances <= _IMPOSSIBLE
    # Whatever was chosen had a chance.
    never[place] = False
    return none if sampled else never, never if sampled else none, chances < _THIN


def _paid(decision: Decision, rewards: Any) -> _Floats:
    """The rewards of a decision's arms, in its order."""
    if isinstance(rewards, Mapping):
        ids, blocks = list(decision.ids), decision.blocks.tolist()
        missing = [name for name, block in zip(ids, blocks, strict=True) if _key(rewards, name, block) is None]
        if missing:
            raise ValueError(f"round {decision.t}: there is no reward for arm {missing[0]!r}; evaluation needs all")
        return np.array([rewards[_key(rewards, name, block)] for name, block in zip(ids, blocks, strict=True)], float)
    paid = np.asarray(rewards, dtype=np.float64).reshape(-1)
    if len(paid) != len(decision):
        raise ValueError(f"round {decision.t}: {len(paid)} rewards for {len(decision)} chosen arms")
    return paid


def _key(rewards: Mapping[Any, float], name: Any, block: int) -> Any:
    return (name, block) if (name, block) in rewards else name if name in rewards else None


def _column(log: Mapping[str, Any], name: str) -> _Floats:
    if name not in log or log[name] is None:
        raise KeyError(f"the log has no {name!r}; there are {', '.join(map(repr, log))}")
    values = np.asarray(log[name])
    if values.dtype == object:
        values = np.array([np.nan if value is None else value for value in values.tolist()], dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name} has the shape {values.shape}; it must be one number per round")
    if len(values) != len(log["action"]):
        raise ValueError(f"{name} has {len(values)} rows, the log {len(log['action'])}")
    if len(values) == 0:
        raise ValueError("the log has no rounds; there is nothing to evaluate a policy on")
    return np.ascontiguousarray(values, dtype=np.float64)


def _whole(values: _Floats, name: str) -> NDArray[np.uint64]:
    bad = ~((values >= 0) & (values == np.floor(values)))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: {name} is {values[row]}; it must be a whole number of at least 0")
    return values.astype(np.uint64)


def _of_position(values: _Floats, positions: NDArray[np.uint64], rounds: int, what: str) -> _Floats:
    """The values of each round's own position."""
    if values.ndim not in (2, 3) or len(values) != rounds:
        raise ValueError(f"{what}: the shape is {values.shape}; it must be ({rounds}, actions), or with positions")
    if values.ndim == 2:
        return np.ascontiguousarray(values)
    if positions.max() >= values.shape[2]:
        row = int(positions.argmax())
        raise ValueError(f"row {row}: position {positions[row]} is not among the {values.shape[2]} of {what}")
    return np.ascontiguousarray(values[np.arange(rounds), :, positions.astype(np.intp)])


def _asked(
    log: Mapping[str, Any], policy: Policy, features: Callable[[Any], ArrayLike] | None, rounds: int
) -> tuple[_Floats, _Floats]:
    """With which probability the policy chooses each action as the best one in each round, and what it expects."""
    theta = np.atleast_2d(policy.theta_)[0]
    given = _rows_of(log, len(theta), features)
    wants, expected = [], []
    for place in range(rounds):
        x = given(place)
        if x.ndim != 2 or x.shape[1] != len(theta):
            raise ValueError(f"row {place}: the policy has {len(theta)} features, the actions have shape {x.shape}")
        wants.append(np.asarray(policy.inclusion(x, k=1).probabilities).reshape(-1))
        expected.append(x @ theta)
    return np.asarray(wants), np.asarray(expected)


def _rows_of(log: Mapping[str, Any], dim: int, features: Callable[[Any], ArrayLike] | None) -> Callable[[int], _Floats]:
    context = log.get("context")
    if features is not None:
        return lambda place: np.asarray(features(None if context is None else context[place]), dtype=np.float64)
    items = log.get("action_context")
    if items is None:
        raise ValueError("the log has no 'action_context', so the features of the actions must be given by `features`")
    items = np.asarray(items, dtype=np.float64)
    if items.shape[1] == dim:
        return lambda place: items
    width = 0 if context is None else np.asarray(context).shape[1]
    if context is not None and items.shape[1] + width == dim:
        rows = np.asarray(context, dtype=np.float64)
        return lambda place: np.hstack([np.tile(rows[place], (len(items), 1)), items])
    raise ValueError(
        f"the policy has {dim} features, but an action has {items.shape[1]} and a context {width}: give `features`"
    )


def described(policies: Sequence[Policy]) -> list[str]:
    """Policies as JSON, for a campaign."""
    for policy in policies:
        if not isinstance(policy, Policy) or policy.name is None:
            raise TypeError(f"a campaign evaluates the library's policies, as aw.ArmWiseTS(v=0.3), not {policy!r}")
    return [policy._spec() for policy in policies]


class Ranked(dict[str, Any]):
    """What a campaign says about policies: the whole answer as a dictionary, and its policies as a table."""

    def rows(self) -> list[dict[str, Any]]:
        """A row per policy, the best first."""
        return [_advised(line) if "best_in" in line else _evaluated(line) for line in self._lines()]

    def _lines(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = self["candidates"] if "candidates" in self else self["policies"]
        return lines

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with a row per policy."""
        import pandas

        return pandas.DataFrame(self.rows()).set_index("policy")

    def to_polars(self) -> polars.DataFrame:
        """A polars frame with a row per policy."""
        import polars

        return polars.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        return _html.table(str(self["campaign"]), list(rows[0]), [list(row.values()) for row in rows], len(rows))


def _evaluated(line: Mapping[str, Any]) -> dict[str, Any]:
    of = line["evaluation"]
    (doubly,) = (own for own in of["estimates"] if own["estimator"] == "dr")
    row = {"policy": line["policy"], "identified": of["identified"], "value": doubly["value"], "se": doubly["error"]}
    row["low"], row["high"] = _ends(doubly["interval"])
    row["anytime_low"], row["anytime_high"] = _ends(doubly["anytime"])
    row["gain"] = of["gain"]
    row["gain_low"], row["gain_high"] = _ends(of["gain_interval"])
    names = ("effective", "largest_weight", "unsupported", "unseen", "thin")
    return row | {name: of[name] for name in names}


def _advised(line: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: line[name] for name in ("policy", "current", "value", "behind")}
    row["behind_low"], row["behind_high"] = _ends(line["behind_interval"])
    return row | {"best_in": line["best_in"]}
