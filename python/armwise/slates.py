"""Slates in a service: what a click tells about the arms that were shown.

In the library a decision does it itself (`Decision.up_to_click`, `Decision.examined`). A service knows decisions by
their id, and what was never looked at must be said: when the window closes, silence is a reward.

>>> from armwise import slates
>>> slates.cascade(["news", "shoes", "hats"], click=1)
({'news': 0.0, 'shoes': 1.0}, ['hats'])
>>> slates.positions(["news", "shoes"], [0.0, 1.0], [1.0, 0.6])
[{'id': 'news', 'reward': 0.0, 'examined': 1.0}, {'id': 'shoes', 'reward': 1.0, 'examined': 0.6}]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def cascade(shown: Sequence[str], click: int | None) -> tuple[dict[str, float], list[str]]:
    """The rewards of the arms up to the first click, and the arms below it, which nobody looked at.

    `shown` has the ids from the top down, `click` the place of the first click, from 0, or None if there was none: then
    every arm was seen. Give the first to `reward` and the second to `undelivered` of a `ServedCampaign`, or of an
    `AsyncServedCampaign`:

        rewards, unseen = slates.cascade(decision.ids, click)
        campaign.reward(decision, rewards)
        if unseen:
            campaign.undelivered(decision, unseen)
    """
    if len(set(shown)) < len(shown):
        raise ValueError("an arm is shown twice")
    if click is not None and not 0 <= click < len(shown):
        raise IndexError(f"place {click} of a slate of {len(shown)}")
    seen = len(shown) if click is None else click + 1
    return {arm: float(place == click) for place, arm in enumerate(shown[:seen])}, list(shown[seen:])


def positions(shown: Sequence[str], rewards: Sequence[float], examined: Sequence[float]) -> list[dict[str, Any]]:
    """The rewards of arms whose places are looked at with known probabilities, as a `ServedCampaign` takes them.

    `shown` has the ids from the top down, `rewards` what each paid, zeros included, and `examined` the probability that
    its place was looked at, above 0 and at most 1:

        campaign.reward(decision, slates.positions(decision.ids, clicks, [1.0, 0.6, 0.4]))
    """
    if len(set(shown)) < len(shown):
        raise ValueError("an arm is shown twice")
    lines = zip(shown, rewards, examined, strict=True)
    return [{"id": arm, "reward": float(reward), "examined": float(q)} for arm, reward, q in lines]
