"""Rust and Python give the same bits: choices, models and files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import every_policy, trained

import armwise as aw

NAMES = [f"customer-{row}" for row in range(60)]


def constraint(blocks: int) -> aw.Constraint:
    return aw.TopK(6) if blocks == 1 else aw.Assignment(quotas=[4] * blocks)


@pytest.fixture(scope="module")
def script(replay: Path) -> list[dict]:
    lines = subprocess.run([replay], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_all_algorithms_choose_and_learn_the_same_bits(script: list[dict]) -> None:
    by_name = {policy.name: policy for policy in every_policy()}
    assert {line["algorithm"]["name"] for line in script} == set(by_name)
    for line in script:
        policy = type(by_name[line["algorithm"]["name"]])(**by_name[line["algorithm"]["name"]].get_params())
        policy.set_params(seed=5, blocks=line["blocks"], ties=line["ties"], gamma=line["gamma"])
        for played in line["rounds"]:
            x = np.array(played["features"]).reshape(60, 7)
            decision = policy.choose(x, constraint=constraint(line["blocks"]), ids=NAMES)
            assert json.loads(decision.to_json()) == played["decision"]
            chosen = decision.features
            policy.learn(decision, chosen[:, 0] - chosen[:, 1] * (decision.blocks + 1.0))
        expected = json.loads(line["learner"])
        found = json.loads(policy._ready().to_json(5, 6))
        assert found["learner"] == expected["learner"]
        assert found["checksum"] == expected["checksum"]


def test_float32_gives_the_bits_of_the_same_values_in_float64(script: list[dict]) -> None:
    x = np.array(script[0]["rounds"][0]["features"]).reshape(60, 7)
    for policy in every_policy(seed=5):
        wide = policy.choose(x, k=6, t=1)
        assert policy.choose(x.astype(np.float32), k=6, t=1) == wide
        assert policy.choose(np.asfortranarray(x), k=6, t=1) == wide


@pytest.mark.parametrize("policy", every_policy(seed=3), ids=lambda policy: policy.name)
def test_a_file_goes_to_rust_and_back(policy: aw.Policy, replay: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    trained(policy, n=60, d=7).save(path)
    from_rust = json.loads(subprocess.run([replay, path], check=True, capture_output=True, text=True).stdout)
    # Rust has written the file again, one round on; what was learned is the same.
    again = aw.load(path)
    assert (again.t_, again.seed, type(again)) == (policy.t_ + 1, 3, type(policy))
    assert np.array_equal(again.theta_, policy.theta_)
    # The next choice of Python is the one that Rust made from the file; the features are recovered from the choice.
    x = np.zeros((60, 7))
    rows = [int(arm["name"].split("-")[1]) for arm in from_rust["arms"]]
    x[rows] = [arm["features"] for arm in from_rust["arms"]]
    found = policy.score(x, ids=NAMES, t=from_rust["round"]["t"])[rows]
    assert found.tolist() == [arm["score"] for arm in from_rust["arms"]]


def test_a_file_without_a_next_round_is_read(script: list[dict], tmp_path: Path) -> None:
    for line in script:
        path = tmp_path / "rust.json"
        path.write_text(line["learner"])
        policy = aw.load(path)
        assert (policy.t_, policy.blocks, policy.ties, policy.gamma) == (
            6,
            line["blocks"],
            line["ties"],
            line["gamma"],
        )
        assert policy.count_ > 0
