"""Files that Python saves go into the command's campaigns, and back."""

import os
import subprocess

import numpy as np
import pytest

import armwise as aw

COMMAND = os.environ.get("ARMWISE_COMMAND", "")
RULES = """
customer = "customer"
[[promotion]]
name = "mail"
quota = 5
[[promotion]]
name = "call"
quota = 3
"""


@pytest.mark.skipif(not COMMAND, reason="ARMWISE_COMMAND does not name the built command")
def test_a_saved_policy_begins_a_campaign_and_comes_back(tmp_path):
    def armwise(*arguments):
        subprocess.run([COMMAND, *arguments], cwd=tmp_path, check=True, capture_output=True)

    rng = np.random.default_rng(5)
    rows = [f"c{i},{rng.normal()},{rng.normal()}" for i in range(60)]
    (tmp_path / "customers.csv").write_text("\n".join(["customer,age,visits", *rows]) + "\n")
    (tmp_path / "rules.toml").write_text(RULES)
    # A policy whose features are a campaign's, with what was learned elsewhere.
    armwise("init", "before.armwise", "--from", "customers.csv", "--config", "rules.toml")
    armwise("export", "before.armwise", "learner", "--out", "p.json")
    policy = aw.load(tmp_path / "p.json")
    policy.partial_fit(rng.normal(size=(30, 3)), rng.uniform(size=30), blocks=np.arange(30) % 2)
    policy.save(tmp_path / "p.json")

    armwise("init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml", "--learner", "p.json")
    armwise("export", "c.armwise", "learner", "--out", "q.json")
    back = aw.load(tmp_path / "q.json")
    assert back.theta_.tobytes() == policy.theta_.tobytes()
    assert back.stderr_.tobytes() == policy.stderr_.tobytes()

    armwise("choose", "c.armwise", "customers.csv", "--out", "sends.csv")
    (tmp_path / "answers.csv").write_text(f"decision,reward\nr{back.t_}-1,1\n")
    armwise("learn", "c.armwise", "answers.csv")
    armwise("verify", "c.armwise")
    armwise("export", "c.armwise", "learner", "--out", "q.json")
    later = aw.load(tmp_path / "q.json")
    assert later.theta_.tobytes() != policy.theta_.tobytes()
    assert later.t_ == back.t_ + 1
