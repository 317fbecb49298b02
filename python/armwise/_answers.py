"""What `armwise serve` answers, as typed values; shared by both clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class ServedArm:
    """A chosen arm: its place, what is expected of it and what was maximised."""

    id: str
    promotion: str
    rank: int
    mean: float
    width: float
    draw: float | None
    score: float
    probability: float | None


@dataclass(frozen=True)
class ServedDecision:
    """A decision of the service; ``decision`` is the id by which rewards are given."""

    decision: str
    seq: int
    arms: tuple[ServedArm, ...]
    #: What is to be known before it is believed, in the words of the service, such as ``no-substitutes``.
    warnings: tuple[str, ...] = ()

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> ServedDecision:
        arms = tuple(
            ServedArm(
                id=arm["id"],
                promotion=arm["promotion"],
                rank=arm["rank"],
                mean=arm["mean"],
                width=arm["width"],
                draw=arm.get("draw"),
                score=arm["score"],
                probability=arm.get("probability"),
            )
            for arm in told["arms"]
        )
        warnings = tuple(one["warning"] for one in told.get("warnings", ()))
        return cls(told["decision"], told["seq"], arms, warnings)

    @property
    def ids(self) -> list[str]:
        """The ids of the arms, the best first."""
        return [arm.id for arm in self.arms]


@dataclass(frozen=True)
class RewardedArm:
    """What became of one reward, and why it does not count where it does not."""

    id: str
    promotion: str | None
    outcome: str
    reason: str | None


@dataclass(frozen=True)
class RewardsAnswer:
    """What became of rewards, one by one in the order in which they were given.

    An outcome is ``applied``, ``known``, ``conflict``, ``late``, ``held``, ``revoked``, ``unknown`` or ``invalid``.
    """

    decision: str
    seq: int
    arms: tuple[RewardedArm, ...]

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> RewardsAnswer:
        arms = tuple(
            RewardedArm(arm["id"], arm.get("promotion"), arm["outcome"], arm.get("reason")) for arm in told["arms"]
        )
        return cls(told["decision"], told["seq"], arms)

    @property
    def outcomes(self) -> dict[str | tuple[str, str], str]:
        """The outcomes by the arm's id, or by id and promotion where the reward was given for a promotion."""
        return {arm.id if arm.promotion is None else (arm.id, arm.promotion): arm.outcome for arm in self.arms}

    @property
    def applied(self) -> int:
        """How many were applied by this request."""
        return sum(arm.outcome == "applied" for arm in self.arms)


class ServiceError(Exception):
    """A request that the service refused, in its words."""

    def __init__(self, status: int, told: Mapping[str, Any]) -> None:
        self.status, self.told = status, dict(told)
        self.type = str(told.get("type", ""))
        self.in_flight = status == 409 and self.type.endswith("in-flight")
        super().__init__(str(told.get("detail") or told.get("title") or f"the service answered {status}"))


def problem_of(status: int, content_type: str, body: bytes) -> ServiceError:
    """The problem that an answer describes."""
    if "json" in content_type:
        try:
            told = json.loads(body)
        except ValueError:
            told = None
        if isinstance(told, dict):
            return ServiceError(status, told)
    return ServiceError(status, {"detail": f"the service answered {status}: {body[:200].decode(errors='replace')}"})


def seq_of(headers: Mapping[str, str]) -> int:
    """How new an answer is."""
    return int(headers.get("armwise-seq", 0) or 0)


def quoted(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


@cache
def httpx_module() -> ModuleType:
    """The package httpx, which only the client needs."""
    try:
        import httpx
    except ImportError as error:
        raise ImportError("the client needs the package httpx: pip install 'armwise[client]'") from error
    return httpx
