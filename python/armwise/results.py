"""What policies did in the lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _armwise, _html

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Results:
    """What policies did: arrays of shape (policies, trials, rounds).

    All policies meet the same rounds and the same potential rewards, so differences between them are paired.
    """

    def __init__(self, policies: list[str], splits: int, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        self.policies, self._splits = policies, splits
        #: Rewards of each round.
        self.reward = arrays["reward"]
        #: Expected reward of the best super arm less that of the chosen one; None where the environment does not know.
        self.regret = arrays.get("regret")
        #: Clusters touched in each round, where the problem has clusters.
        self.clusters = arrays.get("clusters")
        #: Expected reward of the best super arm, of shape (trials, rounds); None where the environment does not know.
        self.best = arrays.get("best")

    def _columns(self) -> dict[str, Any]:
        count, trials, rounds = self.reward.shape
        policy, trial, t = np.indices((count, trials, rounds)).reshape(3, -1)
        columns: dict[str, Any] = {
            "policy": [self.policies[place] for place in policy],
            "trial": trial.astype(np.int64),
            "t": (t + 1).astype(np.int64),
            "reward": self.reward.reshape(-1),
        }
        if self.regret is not None:
            columns["regret"] = self.regret.reshape(-1)
        if self.clusters is not None:
            columns["clusters"] = self.clusters.reshape(-1)
        return columns

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """One row per policy, trial and round: `pyarrow.table(results)`, `polars.DataFrame(results)`, DuckDB."""
        return _armwise.export(list(self._columns().items()))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table with one row per policy, trial and round."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with one row per policy, trial and round."""
        import pandas

        return pandas.DataFrame(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """A polars frame with one row per policy, trial and round."""
        import polars

        return polars.DataFrame(self)

    def summary(self) -> list[dict[str, Any]]:
        """Cumulative reward and regret of each policy: means, and standard errors (None for a single trial)."""
        rows = []
        for place, policy in enumerate(self.policies):
            reward = self.reward[place].sum(axis=1)
            row: dict[str, Any] = {"policy": policy, "trials": len(reward)}
            row["reward"], row["reward_se"] = _armwise.mean(reward.tolist(), self._splits)
            if self.regret is not None:
                regret = self.regret[place].sum(axis=1)
                row["regret"], row["regret_se"] = _armwise.mean(regret.tolist(), self._splits)
            rows.append(row)
        return rows

    def differences(self, baseline: str | int = 0) -> list[dict[str, Any]]:
        """How much more cumulative reward each policy earned than the baseline, trial by trial.

        The baseline is given by name or place. For every other policy: `reward`, the mean of the paired differences,
        its standard error `reward_se` and 95% interval `reward_low` to `reward_high`; and `ratio`, the mean reward
        divided by the baseline's, with its 95% interval. A single trial has no standard error and no intervals (None).

        >>> import armwise as aw
        >>> problem = aw.lab.clustered(angle=1.2, d=5, n=400, k=20, rounds=5)
        >>> results = aw.lab.run(problem, {"random": aw.Random(), "ours": aw.ArmWiseTS(v=0.1)}, trials=20)
        >>> [row] = results.differences("random")
        >>> row["policy"], row["reward_low"] > 0
        ('ours', True)
        """
        base = self._place(baseline)
        totals = self.reward.sum(axis=2)
        rows = []
        for place, policy in enumerate(self.policies):
            if place == base:
                continue
            se, reward, ratio = _armwise.paired(totals[place].tolist(), totals[base].tolist(), self._splits)
            row: dict[str, Any] = {"policy": policy, "baseline": self.policies[base], "trials": totals.shape[1]}
            row["reward"], row["reward_low"], row["reward_high"] = reward
            row["reward_se"] = se
            row["ratio"], row["ratio_low"], row["ratio_high"] = ratio
            rows.append(row)
        return rows

    def _place(self, policy: str | int) -> int:
        if isinstance(policy, str):
            if policy not in self.policies:
                raise KeyError(f"there is no policy {policy!r}; there are {', '.join(map(repr, self.policies))}")
            return self.policies.index(policy)
        if not 0 <= policy < len(self.policies):
            raise IndexError(f"there is no policy {policy}; there are {len(self.policies)}, counted from 0")
        return policy

    def plot(self, ax: Any = None) -> Any:
        """Cumulative regret by round (where it is not known, reward) with a band of two standard errors; needs
        matplotlib (`armwise[plot]`)."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        what, values = ("reward", self.reward) if self.regret is None else ("regret", self.regret)
        rounds = np.arange(1, values.shape[2] + 1)
        for policy, total in zip(self.policies, values.cumsum(axis=2), strict=True):
            each = [_armwise.mean(trials.tolist(), self._splits) for trials in total.T]
            mean = np.array([mean for mean, _ in each])
            margin = 2 * np.array([0.0 if se is None else se for _, se in each])
            (line,) = axes.plot(rounds, mean, label=policy)
            axes.fill_between(rounds, mean - margin, mean + margin, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set_xlabel("round")
        axes.set_ylabel(f"cumulative {what}")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        count, trials, rounds = self.reward.shape
        return f"Results(policies={count}, trials={trials}, rounds={rounds})"

    def _repr_html_(self) -> str:
        rows = self.summary()
        return _html.table(repr(self), list(rows[0]), [list(row.values()) for row in rows], len(rows))
