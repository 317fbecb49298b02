"""A campaign from Python is the campaign of the command: the same core, the same bits."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import armwise as aw
from armwise.campaign import draft, explain

pa = pytest.importorskip("pyarrow")

RULES = {
    "customer": "customer",
    "seed": 7,
    "promotion": [{"name": "mail", "quota": 30}, {"name": "call", "quota": 10}],
}
TOML = """
customer = "customer"
seed = 7
[[promotion]]
name = "mail"
quota = 30
[[promotion]]
name = "call"
quota = 10
"""


def people(n: int = 400) -> dict[str, list]:
    rng = np.random.default_rng(3)
    return {
        "customer": [f"c{row}" for row in range(n)],
        "age": rng.integers(18, 80, size=n).tolist(),
        "spent": rng.uniform(0, 500, size=n).round(2).tolist(),
        "town": rng.choice(["Ulm", "Köln", 'a "b", c'], size=n).tolist(),
    }


def write_csv(path: Path, columns: dict[str, list]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def armwise(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """The command that the package installs."""
    command = [sys.executable, "-m", "armwise", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def answers(sends: list[dict]) -> dict[str, list]:
    """Every second send is answered."""
    rows = [row for place, row in enumerate(sends) if place % 2 == 0]
    return {"decision": [row["decision"] for row in rows], "reward": [1.0 + (len(row["customer"]) % 3) for row in rows]}


@pytest.fixture
def begun(tmp_path: Path) -> aw.Campaign:
    return aw.Campaign.init(tmp_path / "spring.armwise", pa.table(people()), RULES)


def test_a_reward_says_how_probable_it_was_that_it_was_looked_at(begun: aw.Campaign) -> None:
    decisions = begun.choose(pa.table(people())).sends.to_arrow()["decision"].to_pylist()
    table = {"decision": decisions[:3], "reward": [1.0, 0.0, 1.0], "seen": [0.5, 1.0, 1.5]}
    learned = begun.learn(pa.table(table), examined_column="seen")
    assert (learned.applied, learned.rejected) == (2, 1)
    one = {"decision": decisions[:1], "reward": [1.0]}
    again = begun.learn(pa.table({**one, "examined": [0.5]}))
    assert again.repeated == 1
    other = begun.correct(pa.table({**one, "examined": [0.25]}))
    assert other.applied == 1


def test_the_command_and_python_give_the_same_sends_and_the_same_model(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "customers.csv", people())
    (tmp_path / "rules.toml").write_text(TOML)
    armwise(tmp_path, "init", "command.armwise", "--from", "customers.csv", "--config", "rules.toml")
    by_path = aw.Campaign.init(tmp_path / "path.armwise", table, tmp_path / "rules.toml")
    in_memory = aw.Campaign.init(tmp_path / "memory.armwise", pa.table(people()), RULES)
    mine = ("customer", "promotion", "score", "mean", "width", "draw")
    for week in range(1, 4):
        armwise(tmp_path, "choose", "command.armwise", "customers.csv", "--out", "sends.csv")
        expected = read_csv(tmp_path / "sends.csv")
        sent = [by_path.choose(table), in_memory.choose(pa.table(people()))]
        for chosen in sent:
            assert chosen.round == week
            chosen.sends.write(tmp_path / "mine.csv")
            found = read_csv(tmp_path / "mine.csv")
            assert len(found) == len(expected) == 40
            shared = [name for name in mine if name in expected[0]]
            assert shared[:2] == ["customer", "promotion"]
            assert [[row[name] for name in shared] for row in found] == [
                [row[name] for name in shared] for row in expected
            ]
        write_csv(tmp_path / "answers.csv", answers(expected))
        armwise(tmp_path, "learn", "command.armwise", "answers.csv")
        for campaign, chosen in zip((by_path, in_memory), sent, strict=True):
            learned = campaign.learn(pa.table(answers(chosen.sends.to_arrow().to_pylist())))
            assert (learned.applied, learned.repeated, learned.rejected) == (20, 0, 0)
        if week == 2:
            armwise(tmp_path, "close", "command.armwise", "--round", "1")
            for campaign in (by_path, in_memory):
                assert campaign.close(1)["silent"] == 20
        status = json.loads(armwise(tmp_path, "status", "command.armwise", "--json").stdout)
        assert by_path.status()["model"] == in_memory.status()["model"] == status["model"]
    # Either door opens what the other one made.
    theirs = aw.Campaign.open(tmp_path / "command.armwise")
    assert theirs.verify()["good"]
    armwise(tmp_path, "verify", "memory.armwise")
    customer = expected[0]["customer"]
    why = json.loads(armwise(tmp_path, "why", "command.armwise", customer, "--json").stdout)
    assert theirs.why(customer) == why
    assert theirs.report() == json.loads(armwise(tmp_path, "report", "command.armwise", "--json").stdout)


def test_tables_of_pandas_and_polars_are_the_same_table(tmp_path: Path) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame(people())
    frame.index = np.arange(len(frame)) + 1_000  # must not become a feature
    models = []
    for name, table in (("a", pa.table(people())), ("b", frame), ("c", pl.DataFrame(people()))):
        campaign = aw.Campaign.init(tmp_path / f"{name}.armwise", table, RULES)
        sends = campaign.choose(table).sends.to_arrow().to_pylist()
        campaign.learn(pa.table(answers(sends)))
        models.append((campaign.status()["model"], campaign.begun["features"]))
    assert models[0] == models[1] == models[2]


def test_responses_are_counted_once_and_bad_rows_come_back(begun: aw.Campaign) -> None:
    sends = begun.choose(pa.table(people())).sends.to_arrow().to_pylist()
    table = pa.table(answers(sends))
    assert begun.learn(table).applied == 20
    model = begun.status()["model"]
    again = begun.learn(table)
    assert (again.applied, again.repeated) == (0, 20)
    wrong = begun.learn(pa.table({"decision": ["nonsense", sends[1]["decision"]], "reward": [1.0, 5.0]}))
    assert (wrong.rows, wrong.applied, wrong.rejected, len(wrong.rejects)) == (2, 1, 1, 1)
    assert "nonsense" in str(wrong.rejects.to_arrow().to_pylist())
    corrected = begun.correct(pa.table({"decision": [sends[1]["decision"]], "reward": [0.0]}))
    assert corrected.applied == 1
    assert begun.undelivered(pa.table({"decision": [sends[3]["decision"]]})).applied == 1
    assert begun.status()["model"] != model
    results = begun.results().to_arrow()
    assert results.num_rows == 40
    assert begun.verify()["good"]


def test_a_list_of_responders_needs_no_rewards(begun: aw.Campaign) -> None:
    sends = begun.choose(pa.table(people())).sends.to_arrow().to_pylist()
    who = pa.table(
        {"customer": [row["customer"] for row in sends[:5]], "promotion": [r["promotion"] for r in sends[:5]]}
    )
    assert begun.learn(who, only_responders=2.5, round=1).applied == 5


def test_a_key_makes_a_retry_the_same_request(begun: aw.Campaign) -> None:
    table = pa.table(people())
    one, two = begun.choose(table, key="monday"), begun.choose(table, key="monday")
    assert one.summary == two.summary
    assert one.sends.to_arrow() == two.sends.to_arrow()
    assert [line["round"] for line in begun.status()["rounds"]] == [1]
    with pytest.raises(aw.ConflictError, match="monday"):
        begun.close(1, key="monday")
    with pytest.raises(aw.InputError, match="200"):
        begun.close(1, key="with a space")


def test_a_backup_is_the_campaign_at_that_moment(begun: aw.Campaign, tmp_path: Path) -> None:
    begun.choose(pa.table(people()))
    begun.backup(tmp_path / "copy.armwise")
    copy = aw.Campaign.open(tmp_path / "copy.armwise")
    assert copy.verify()["good"]
    assert copy.status() == begun.status()
    begun.close(1)
    assert copy.status() != begun.status()
    with pytest.raises(aw.ConflictError, match="exists"):
        begun.backup(tmp_path / "copy.armwise")


def test_the_hold_out_is_a_sheet_of_its_own_and_uplift_needs_its_outcomes(tmp_path: Path) -> None:
    rules = RULES | {"limits": {"hold_out": 0.25}}
    campaign = aw.Campaign.init(tmp_path / "held.armwise", pa.table(people()), rules)
    week = campaign.choose(pa.table(people()))
    held = week.hold_out.to_arrow()
    assert held == campaign.hold_out(1).to_arrow()
    assert len(held) == week.summary["hold_out"] > 8
    assert not set(held["customer"].to_pylist()) & set(week.sends.to_arrow()["customer"].to_pylist())
    campaign.learn(pa.table(answers(week.sends.to_arrow().to_pylist())))
    closed = campaign.close(1)
    assert closed["hold_out"]["pending"] == len(held)
    assert campaign.report()["uplift"][-1]["refused"]["reason"] == "no-outcomes"
    outcomes = pa.table({"decision": held["decision"], "reward": [float(row % 2) for row in range(len(held))]})
    learned = campaign.learn(outcomes)
    assert learned.applied == learned.summary["hold_out"] == len(held)
    line = campaign.report()["uplift"][-1]
    assert line["refused"] is None
    assert line["uplift"] == pytest.approx(line["sent"]["mean"] - line["hold_out"]["mean"])
    assert campaign.verify()["good"]


def test_revoke_amend_dry_run_and_sends_again(begun: aw.Campaign) -> None:
    table = pa.table(people())
    dry = begun.choose(table, dry_run=True)
    assert begun.status()["rounds"] == []
    week = begun.choose(table)
    assert week.sends.to_arrow() == dry.sends.to_arrow() == begun.sends(1).to_arrow()
    assert begun.revoke(1)["sends"] == 40
    fewer = RULES | {"promotion": [{"name": "mail", "quota": 5}, RULES["promotion"][1]]}
    assert begun.amend(fewer)["changed"] == ["promotion"]
    assert len(begun.choose(table).sends) == 15
    with pytest.raises(aw.ConflictError, match="no outcome yet"):
        begun.choose(table)
    assert begun.choose(table, again=True).round == 3
    with pytest.raises(aw.ConflictError):
        begun.choose(table, round=1, again=True)


def test_a_policy_begins_a_campaign_and_comes_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "c.armwise"
    other = aw.Campaign.init(tmp_path / "other.armwise", pa.table(people()), RULES)
    other.choose(pa.table(people()))
    policy = other.policy()
    rng = np.random.default_rng(1)
    policy.partial_fit(rng.normal(size=(30, other.begun["features"])), rng.uniform(size=30), blocks=np.arange(30) % 2)
    campaign = aw.Campaign.init(path, pa.table(people()), RULES, learner=policy)
    assert campaign.policy().theta_.tobytes() == policy.theta_.tobytes()
    # A policy that does not say what its features are made of cannot be applied to a table.
    unknown = aw.ArmWiseTS(blocks=2, seed=4)
    unknown.partial_fit(rng.normal(size=(30, other.begun["features"])), rng.uniform(size=30), blocks=np.arange(30) % 2)
    with pytest.raises(aw.InputError, match="from which columns its features are made"):
        aw.Campaign.init(tmp_path / "x.armwise", pa.table(people()), RULES, learner=unknown)


def test_promotions_features_and_past_sends_change_from_python_too(tmp_path: Path) -> None:
    table, columns = pa.table(people()), people()
    numbers = {"column": [{"name": "age", "kind": "numeric"}, {"name": "spent", "kind": "numeric"}]}
    campaign = aw.Campaign.init(tmp_path / "c.armwise", table, RULES | {"features": numbers})
    past = columns | {"promotion": ["mail", "call"] * 200, "reward": [0.5, 1.0] * 200, "probability": [0.25] * 400}
    learned = campaign.learn(pa.table(past), logged=True)
    assert (learned.applied, learned.rejected) == (400, 0)
    assert campaign.learn(pa.table(past), logged=True).repeated == 400
    assert campaign.logged().to_arrow().column("probability").to_pylist() == [0.25] * 400
    with pytest.raises(aw.InputError):
        campaign.learn(pa.table(past), logged=True, round=1)
    assert campaign.choose(table).summary["expected_reward"] > 0
    more = RULES | {"promotion": [*RULES["promotion"], {"name": "gift", "quota": 5}]}
    assert campaign.amend(more)["added"] == ["gift"]
    bins = {"column": [{"name": "age", "kind": "bins"}, {"name": "spent", "kind": "log"}]}
    with pytest.raises(aw.ConflictError, match="fit the campaign anew"):
        campaign.amend(more | {"features": bins})
    done = campaign.refit(table, more | {"features": bins})
    assert (done["features"], done["decisions"]) == (6, 440)
    assert len(campaign.choose(table, again=True).sends) == 45
    assert campaign.verify()["good"]


def test_keys_are_explained_and_rules_drafted(tmp_path: Path) -> None:
    assert "default  0" in explain("limits.rest")
    assert "per_customer" in explain()
    with pytest.raises(aw.NotFoundError):
        explain("no.such.key")
    toml = draft(pa.table(people() | {"visit": [0, 1] * 200, "member": [0, 1] * 200}), RULES)
    assert '# Is "visit" known before a send?' in toml
    assert 'name = "member"\nkind = "categorical"' in toml
    (tmp_path / "campaign.toml").write_text(toml, encoding="utf-8")
    aw.Campaign.init(tmp_path / "c.armwise", pa.table(people() | {"member": [0, 1] * 200}), tmp_path / "campaign.toml")


def test_the_report_is_a_page_too(begun: aw.Campaign, tmp_path: Path) -> None:
    begun.choose(pa.table(people()))
    made = begun.report(html=tmp_path / "page.html")
    assert isinstance(made, dict)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_failures_are_exceptions_of_their_kind(begun: aw.Campaign, tmp_path: Path) -> None:
    with pytest.raises(aw.NotFoundError, match="does not exist"):
        aw.Campaign.open(tmp_path / "nowhere.armwise")
    with pytest.raises(aw.ConflictError, match="exists already"):
        aw.Campaign.init(begun.path, pa.table(people()), RULES)
    with pytest.raises(aw.NotFoundError):
        begun.close(9)
    with pytest.raises(aw.InputError, match="customer"):
        begun.choose(pa.table({"age": [1, 2]}))
    with pytest.raises(aw.InputError, match="the rules"):
        aw.Campaign.init(tmp_path / "x.armwise", pa.table(people()), RULES | {"colour": "red"})
    with pytest.raises(aw.InputError, match="cannot be written as TOML"):
        aw.Campaign.init(tmp_path / "x.armwise", pa.table(people()), RULES | {"seed": object()})
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        begun.choose([1, 2, 3])
    with pytest.raises(aw.InputError, match="the quotas cannot be met"):
        begun.choose(pa.table(people(20)))
    assert not (tmp_path / "x.armwise").exists()
    damaged = tmp_path / "damaged.armwise"
    damaged.write_bytes(b"no campaign")
    with pytest.raises(aw.StorageError):
        aw.Campaign.open(damaged)
    for kind in (aw.InputError, aw.NotFoundError, aw.ConflictError, aw.StorageError, aw.LockedError):
        assert issubclass(kind, aw.CampaignError)


def test_a_campaign_that_is_being_written_is_locked(begun: aw.Campaign) -> None:
    fcntl = pytest.importorskip("fcntl")
    with Path(f"{begun.path}.lock").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(aw.LockedError, match="locked"):
            begun.choose(pa.table(people()))
        assert begun.status()["rounds"] == [], "readers do not wait"
    assert begun.choose(pa.table(people())).round == 1
