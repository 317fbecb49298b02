"""Evaluation of policies from logs: formulas written a second time, bad logs, and campaigns."""

import numpy as np
import pandas as pd
import pytest

import armwise as aw


def some_log(rounds: int = 50, actions: int = 4, positions: int = 2, seed: int = 3) -> dict[str, object]:
    draws = np.random.default_rng(seed)
    pscore = draws.dirichlet(np.ones(actions), size=rounds)
    action = np.array([draws.choice(actions, p=row) for row in pscore])
    return {
        "n_rounds": rounds,
        "n_actions": actions,
        "action": action,
        "position": draws.integers(positions, size=rounds),
        "reward": draws.normal(size=rounds),
        "pscore": pscore[np.arange(rounds), action],
        "context": draws.normal(size=(rounds, 2)),
        "action_context": draws.normal(size=(actions, 3)),
    }


def test_estimates_are_their_formulas() -> None:
    log = some_log()
    draws = np.random.default_rng(4)
    dist = draws.dirichlet(np.ones(4), size=(50, 2)).transpose(0, 2, 1)
    model = draws.normal(size=(50, 4, 2))
    found = aw.evaluate(log, dist, estimated_rewards=model)
    rows, action, position = np.arange(50), log["action"], log["position"]
    reward, mean = log["reward"], model[rows, action, position]
    weight = dist[rows, action, position] / log["pscore"]
    direct = (dist * model).sum(axis=1)[rows, position]
    expected = {
        "ips": np.mean(weight * reward),
        "snips": np.mean(weight * reward) / np.mean(weight),
        "dm": np.mean(direct),
        "dr": np.mean(direct + weight * (reward - mean)),
    }
    for name, value in expected.items():
        assert found[name]["value"] == pytest.approx(value, abs=1e-12)
    assert found.effective == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.largest_weight == pytest.approx(weight.max())
    frame = found.to_pandas()
    assert list(frame.index) == ["ips", "snips", "dm", "dr", "shrunk"]
    assert frame.loc["dr", "low"] < expected["dr"]
    assert np.isnan(frame.loc["dm", "low"]), "no sampling variance tells the error of a model"
    assert "dr=" in repr(found)
    assert "<table>" in found._repr_html_()


def test_bad_logs_are_refused_with_their_place() -> None:
    dist = np.full((50, 4), 0.25)
    for name, value, text in [
        ("pscore", 0.0, r"round 7, arm \d in block \d: the probability is 0"),
        ("pscore", 1.2, "the probability is 1.2"),
        ("pscore", np.nan, "the probability is NaN; it must be there"),
        ("reward", np.inf, "round 7, .*the reward is inf"),
        ("action", 9, "row 7: action 9 is not among the 4"),
        ("action", -1, "row 7: action is -1.0"),
        ("action", 1.5, "row 7: action is 1.5"),
    ]:
        log = some_log()
        column = np.array(log[name], dtype=float)
        column[7] = value
        with pytest.raises(ValueError, match=text):
            aw.evaluate(log | {name: column}, dist)
    missing = [0.5] * 50
    missing[3] = None  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"round 3, .*it must be there"):
        aw.evaluate(some_log() | {"pscore": missing}, dist)
    log = some_log()
    del log["pscore"]
    with pytest.raises(KeyError, match="the log has no 'pscore'"):
        aw.evaluate(log, dist)
    with pytest.raises(ValueError, match="pscore has 49 rows, the log 50"):
        aw.evaluate(some_log() | {"pscore": np.full(49, 0.5)}, dist)
    with pytest.raises(ValueError, match=r"shape is \(49, 4\)"):
        aw.evaluate(some_log(), dist[1:])
    with pytest.raises(ValueError, match="level"):
        aw.evaluate(some_log(), dist, level=1.0)
    with pytest.raises(KeyError, match="there is no estimator 'mrdr'"):
        aw.evaluate(some_log(), dist)["mrdr"]


def test_a_policy_is_asked_for_its_probabilities_and_its_model() -> None:
    log = some_log(rounds=30)
    policy = aw.ArmWiseTS(v=0.5, seed=1)
    items = log["action_context"]
    policy.partial_fit(items, [0.1, 0.2, 0.0, 0.4])
    found = aw.evaluate(log, policy)
    wants = policy.inclusion(items, k=1).probabilities.reshape(-1)
    by_hand = aw.evaluate(log, np.tile(wants, (30, 1)), estimated_rewards=np.tile(items @ policy.theta_, (30, 1)))
    assert found["dr"] == by_hand["dr"]
    other = aw.ArmWiseTS(seed=1).partial_fit(np.eye(7), np.zeros(7))
    with pytest.raises(ValueError, match="the policy has 7 features, but an action has 3 and a context 2"):
        aw.evaluate(log, other)
    both = aw.ArmWiseTS(seed=1).partial_fit(np.eye(5), np.zeros(5))
    assert aw.evaluate(log, both).rounds == 30


def rounds_of(policy: aw.Policy, count: int) -> list[tuple[np.ndarray, aw.Decision, np.ndarray]]:  # type: ignore[type-arg]
    draws = np.random.default_rng(8)
    log = []
    for _ in range(count):
        x = draws.normal(size=(12, 3)) / 3
        d = policy.choose(x, k=4, probabilities=True)
        rewards = x[d.rows, 0] + 0.1 * draws.normal(size=4)
        log.append((x, d, rewards))
        policy.learn(d, rewards)
    return log


def test_a_log_of_decisions_is_replayed_for_another_policy() -> None:
    log = rounds_of(aw.ArmWiseTS(v=0.5, seed=2), 6)
    itself = aw.evaluate(log, aw.ArmWiseTS(v=0.5, seed=2), k=4)
    assert itself["ips"]["value"] == pytest.approx(itself.logged)
    assert itself.largest_weight == pytest.approx(1.0)
    target, total = aw.ArmWiseTS(v=0.2, seed=2), 0.0
    for x, d, rewards in log:
        wants = target.inclusion(x, k=4, t=d.t).probabilities
        mean = x @ target.theta_
        total += wants @ mean + (wants[d.rows] / d.probability) @ (rewards - mean[d.rows])
        target.learn(d, rewards)
    found = aw.evaluate(log, aw.ArmWiseTS(v=0.2, seed=2), k=4)
    assert found["dr"]["value"] == pytest.approx(total / 6, abs=1e-12)
    by_id = [(x, d, dict(zip(d.ids.tolist(), rewards, strict=True))) for x, d, rewards in log]
    assert aw.evaluate(by_id, aw.ArmWiseTS(v=0.2, seed=2), k=4).rows() == found.rows()


def test_a_log_without_draws_identifies_nothing_else() -> None:
    # Every weight is at most 1, and the estimate is far from the truth: it must not be told.
    log = rounds_of(aw.C2UCB(alpha=0.5), 10)
    found = aw.evaluate(log, aw.ArmWiseTS(v=0.5, seed=2), k=4)
    assert found.identified is False
    assert found.unsupported is not None
    assert found.unsupported > 0.1
    assert found["ips"]["value"] is None
    assert found["dr"]["low"] is None
    assert "not identified" in repr(found)
    itself = aw.evaluate(log, aw.C2UCB(alpha=0.5), k=4)
    assert itself.identified is True
    assert itself["ips"]["value"] == pytest.approx(itself.logged)


def test_what_could_have_been_chosen_is_known_from_the_logging_policy() -> None:
    log = rounds_of(aw.ArmWiseTS(v=0.5, seed=2), 10)
    target = aw.ArmWiseTS(v=0.2, seed=2)
    unknown = aw.evaluate(log, target, k=4)
    assert unknown.identified is None
    assert unknown.unsupported is None
    known = aw.evaluate(log, target, k=4, logging=aw.ArmWiseTS(v=0.5, seed=2))
    assert known.identified is True
    assert known.unsupported == 0.0
    assert known.rows() == unknown.rows()
    bounded = rounds_of(aw.PC2UCB(alpha=0.2, c=0.5, seed=2), 10)
    found = aw.evaluate(bounded, aw.Random(seed=2), k=4, logging=aw.PC2UCB(alpha=0.2, c=0.5, seed=2))
    assert found.identified is False
    assert found.unsupported is not None
    assert found.unsupported > 0.05
    with pytest.raises(ValueError, match="it is not the policy that chose"):
        aw.evaluate(log, target, k=4, logging=aw.ArmWiseTS(v=0.1, seed=2))


def test_the_probabilities_of_all_actions_tell_what_has_support() -> None:
    log = some_log()
    dist = np.full((50, 4), 0.25)
    assert aw.evaluate(log, dist).identified is None
    everything = np.full((50, 4), 0.25)
    assert aw.evaluate(log | {"pi_b": everything}, dist).identified is True
    half = np.full((50, 4), 0.5)
    half[:, 2:] = 0.0
    found = aw.evaluate(log | {"pi_b": half}, dist)
    assert (found.identified, found.unsupported) == (False, pytest.approx(0.5))


@pytest.mark.parametrize("scope", ["shared", {"mixed": 0.5}, {"group": "team"}])
def test_arms_that_share_draws_have_wider_intervals(scope: object) -> None:
    draws = np.random.default_rng(8)
    logging, log = aw.ArmWiseTS(v=0.5, scope=scope, seed=2), []
    more = {"columns": {"team": np.arange(12) % 3}} if isinstance(scope, dict) and "group" in scope else {}
    for _ in range(6):
        x = draws.normal(size=(12, 3)) / 3
        d = logging.choose(x, k=4, probabilities=True, **more)
        rewards = x[d.rows, 0]
        log.append((x, d, rewards, more))
        logging.learn(d, rewards)
    found = aw.evaluate(log, aw.ArmWiseTS(v=0.4, seed=2), k=4)
    assert found._found["basis"] == "rounds"
    own = aw.evaluate(rounds_of(aw.ArmWiseTS(v=0.5, seed=2), 6), aw.ArmWiseTS(v=0.4, seed=2), k=4)
    assert own._found["basis"] == "arms"


def test_what_choose_was_given_comes_with_the_round() -> None:
    draws = np.random.default_rng(8)
    logging, log = aw.ArmWiseTS(v=0.5, seed=2), []
    may = np.arange(12) % 3 != 0
    for _ in range(8):
        x = draws.normal(size=(12, 3)) / 3
        d = logging.choose(x, k=4, eligible=may, probabilities=True)
        rewards = x[d.rows, 0]
        log.append((x, d, rewards, {"eligible": may, "segments": ["a", "b"] * 6}))
        logging.learn(d, rewards)
    policy, first = aw.ArmWiseTS(v=0.5, seed=2), aw.ArmWiseTS(v=0.5, seed=2)
    found = aw.evaluate(log, policy, k=4, logging=first)
    assert found["ips"]["value"] == pytest.approx(found.logged)
    assert found.largest_weight == pytest.approx(1.0)
    assert list(found.by_segment) == ["a", "b"]
    parts = [part["dr"]["value"] for part in found.by_segment.values()]
    assert sum(parts) == pytest.approx(found["dr"]["value"])
    by_round = found.by_round()
    assert [row["t"] for row in by_round] == list(range(1, 9))
    assert np.mean([row["dr"] for row in by_round]) == pytest.approx(found["dr"]["value"])
    without = [(x, d, rewards) for x, d, rewards, _ in log]
    with pytest.raises(ValueError, match="or not from these arms"):
        aw.evaluate(without, policy, k=4, logging=first)
    with pytest.raises(TypeError, match="round 1: 'elegible' is not one of"):
        aw.evaluate([(*log[0][:3], {"elegible": may})], policy, k=4)
    with pytest.raises(ValueError, match="round 1: 2 segments for 12 rows"):
        aw.evaluate([(*log[0][:3], {"segments": [1, 2]})], policy, k=4)


def test_blocks_are_told_apart() -> None:
    draws = np.random.default_rng(8)
    logging, log = aw.ArmWiseTS(v=0.5, blocks=2, seed=2), []
    constraint = aw.Assignment(quotas=[3, 2])
    for _ in range(4):
        x = draws.normal(size=(12, 3)) / 3
        d = logging.choose(x, constraint=constraint, probabilities=True)
        rewards = x[d.rows, 0]
        log.append((x, d, rewards))
        logging.learn(d, rewards)
    target = aw.ArmWiseTS(v=0.4, blocks=2, seed=2)
    with pytest.warns(UserWarning, match="below 30 no interval is to be believed"):
        found = aw.evaluate(log, target, constraint=constraint)
    assert list(found.by_block) == [0, 1]
    assert sum(part["dr"]["value"] for part in found.by_block.values()) == pytest.approx(found["dr"]["value"])


def test_an_evaluation_is_drawn() -> None:
    plt = pytest.importorskip("matplotlib")
    plt.use("Agg")
    found = aw.evaluate(rounds_of(aw.ArmWiseTS(v=0.5, seed=2), 10), aw.ArmWiseTS(v=0.4, seed=2), k=4)
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["shrunk", "dr", "dm", "snips", "ips"]
    # A line for each interval, a point for each value, and what was earned.
    assert len(axes.lines) == 3 + 5 + 1
    assert found.plot(ax=axes) is axes
    nothing = aw.evaluate(rounds_of(aw.C2UCB(alpha=0.5), 10), aw.Random(seed=1), k=4)
    assert len(nothing.plot().get_yticklabels()) == 3, "the model alone, and what leans on it"


def test_bad_logs_of_decisions_are_refused_with_their_place() -> None:
    log = rounds_of(aw.ArmWiseTS(v=0.5, seed=2), 2)
    x, d, rewards = log[1]
    target = aw.ArmWiseTS(seed=2)
    with pytest.raises(ValueError, match="round 3: the decision has no probabilities"):
        aw.evaluate([*log, (x, aw.ArmWiseTS(seed=1).choose(x, k=4, t=3), rewards)], target, k=4)
    with pytest.raises(ValueError, match="round 2: 3 rewards for 4 chosen arms"):
        aw.evaluate([log[0], (x, d, rewards[:3])], target, k=4)
    with pytest.raises(ValueError, match=r"round 2: there is no reward for arm"):
        aw.evaluate([log[0], (x, d, {int(d.ids[0]): 1.0})], target, k=4)
    stranger = next(row for row in range(12) if row not in d.rows)
    paid = dict(zip(d.ids.tolist(), rewards, strict=True)) | {stranger: 1.0}
    with pytest.raises(KeyError, match=f"arm {stranger} was not chosen in round 2"):
        aw.evaluate([log[0], (x, d, paid)], target, k=4)
    with pytest.raises(ValueError, match="features"):
        aw.evaluate(log, aw.ArmWiseTS(seed=1).partial_fit(np.eye(7), np.zeros(7)), k=4)
    with pytest.raises(ValueError, match="the log has no rounds"):
        aw.evaluate([], target, k=4)
    with pytest.raises(TypeError, match="is evaluated for a policy"):
        aw.evaluate(log, np.ones((2, 12)), k=4)


@pytest.fixture
def campaign(tmp_path) -> tuple[aw.Campaign, pd.DataFrame]:  # type: ignore[no-untyped-def]
    draws = np.random.default_rng(0)
    people = pd.DataFrame({"customer": [f"C{i:03}" for i in range(80)], "age": draws.integers(18, 80, 80)})
    rules = {
        "customer": "customer",
        "algorithm": {"name": "arm-wise-ts", "v": 1.0},
        "promotion": [{"name": "mail", "quota": 10}],
    }
    made = aw.Campaign.init(tmp_path / "c.armwise", people, rules)
    for _ in range(3):
        week = made.choose(people)
        sends = week.sends.to_pandas()
        made.learn(pd.DataFrame({"decision": sends["decision"], "reward": (draws.random(len(sends)) < 0.3) * 1.0}))
        made.close(week.round)
    return made, people


def test_a_campaign_evaluates_policies_and_advises(campaign, tmp_path) -> None:  # type: ignore[no-untyped-def]
    made, people = campaign
    page = tmp_path / "page.html"
    found = made.evaluate([aw.ArmWiseTS(v=0.5), aw.Greedy()], people, html=page)
    assert [line["policy"] for line in found["policies"]]
    table = found.to_pandas()
    assert list(table.index) == [line["policy"] for line in found["policies"]]
    assert {"value", "low", "anytime_low", "gain", "effective", "unsupported"} <= set(table.columns)
    assert found.to_polars().height == 2
    assert "<table>" in found._repr_html_()
    assert found["rounds"] == [1, 2, 3]
    assert page.read_text().startswith("<!DOCTYPE html>")
    by_round = made.evaluate([aw.ArmWiseTS(v=0.5), aw.Greedy()], {1: people, 2: people, 3: people})
    assert by_round == found
    with pytest.raises(aw.InputError, match="the tables of rounds 1, 2, 3 are needed"):
        made.evaluate([aw.Greedy()])
    with pytest.raises(aw.InputError, match="was not chosen from this table"):
        made.evaluate([aw.Greedy()], people.iloc[40:])
    with pytest.raises(TypeError, match="library's policies"):
        made.evaluate(["greedy"], people)  # type: ignore[list-item]
    advice = made.advise(people, rounds=3, trials=4, tables=people)
    assert advice["recommendation"]
    assert advice["reason"]
    assert advice["unknown"]
    assert advice["evaluated"]["rounds"]
    assert advice.to_pandas()["current"].sum() == 1
    two = made.advise(people, [aw.Greedy(), aw.C2UCB(alpha=1.0)], rounds=2, trials=3)
    assert len(two["candidates"]) == 3
    assert sum(line["current"] for line in two["candidates"]) == 1
