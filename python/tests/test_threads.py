"""How many threads compute, which no result depends on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import armwise as aw


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = aw.threads()
    yield
    aw.set_threads(before)


def test_a_limit_holds_from_now_on_and_changes_no_bit() -> None:
    x = np.random.default_rng(1).normal(size=(20_000, 20))
    problem = aw.lab.clustered(angle=1.2, d=5, n=400, k=20, rounds=3)
    found = []
    for n in (1, 2, 64):
        aw.set_threads(n)
        assert aw.threads() == min(n, len(os.sched_getaffinity(0)))
        results = aw.lab.run(problem, aw.ArmWiseTS(v=0.2), trials=4)
        found.append((aw.ArmWiseTS(v=0.2, seed=3).choose(x, k=50).to_json(), results.reward.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("value", "said"), [("1", "1"), ("", None)])
def test_the_environment_sets_it_at_import(value: str, said: str | None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import armwise; print(armwise.threads())"],
        env=os.environ | {"ARMWISE_THREADS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == (said or str(len(os.sched_getaffinity(0))))


def test_what_is_no_number_of_threads_is_refused() -> None:
    for bad in (0, -1, 1.5, "2"):
        with pytest.raises((TypeError, ValueError), match="n "):
            aw.set_threads(bad)  # type: ignore[arg-type]
    done = subprocess.run(
        [sys.executable, "-c", "import armwise"],
        env=os.environ | {"ARMWISE_THREADS": "many"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "ARMWISE_THREADS='many': must be a whole number" in done.stderr
