"""What a notebook shows, and decisions one arm at a time."""

from __future__ import annotations

import math
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import armwise as aw

EVIL = "<script>alert('x')</script> & \"co\""


def cells(html: str) -> list[str]:
    """The texts of the table's cells; not well-formed HTML is an error."""
    return ["".join(cell.itertext()) for cell in xml.fromstring(html).iter("td")]


def test_names_cannot_break_out_of_a_page() -> None:
    decision = aw.C2UCB().choose(np.eye(2), k=2, ids=[EVIL, "plain"])
    results = aw.lab.run(aw.lab.clustered(d=3, n=20, k=2, rounds=2), {EVIL: aw.Greedy()}, trials=2)
    for shown in (decision._repr_html_(), results._repr_html_()):
        assert EVIL in cells(shown)
        assert "<script" not in shown

    class Odd(aw.Policy):
        def __init__(self, note: str = "") -> None:
            self.note = note

    assert EVIL in cells(Odd(EVIL)._repr_html_())
    assert "<script" not in Odd(EVIL)._repr_html_()


def test_a_table_shows_the_first_rows_and_counts_the_others() -> None:
    selection = aw.solve(np.arange(50.0), k=30)
    shown = selection._repr_html_()
    assert cells(shown)[:4] == ["49", "0", "48", "0"]
    assert "and 10 more" in shown
    assert "30" in shown
    assert "more" not in aw.solve([1.0, 2.0], k=1)._repr_html_()


def test_a_policy_shows_its_parameters_and_what_it_learned() -> None:
    policy = aw.C2UCB(alpha=0.25)
    assert cells(policy._repr_html_())[2:4] == ["alpha", "0.25"]
    shown = cells(policy.partial_fit(np.eye(3), [1.0, 2.0, 3.0])._repr_html_())
    assert shown[-6:] == ["features", "3", "rewards learned", "3", "next round", "4"]


@pytest.mark.parametrize("ids", [None, [7, 8, 9], ["x", "y", "z"]])
def test_a_decision_is_iterated_arm_by_arm(ids) -> None:
    decision = aw.ArmWiseTS(v=0.5).choose(np.eye(3), k=2, ids=ids)
    arms = list(decision)
    assert [arm.id for arm in arms] == decision.ids.tolist()
    assert [arm.row for arm in arms] == decision.rows.tolist()
    assert [arm.score for arm in arms] == decision.scores.tolist()
    assert all(isinstance(arm, aw.ChosenArm) and isinstance(arm.id, int | str) for arm in arms)
    assert len(arms) == len(decision)
    assert all(math.isnan(arm.draw) for arm in aw.C2UCB().choose(np.eye(3), k=2))


def test_the_reason_of_an_infeasible_constraint_is_a_dictionary() -> None:
    with pytest.raises(aw.InfeasibleError) as caught:
        aw.solve([0.2], k=2)
    assert caught.value.reason == {"reason": "too-few-arms", "needed": 2, "eligible": 1}
