"""Three replicas, one PostgreSQL, faults by a script: nothing acknowledged is lost, nothing counts twice, one journal.

ARMWISE_RUNS sets the number of runs (10 unless told), ARMWISE_RUN_SECONDS how long each is under load (9 unless told);
`make replicas-soak` does 100 of 60 seconds. A run is a function of its number as far as processes let it be.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from load import Load, begin
from postgres import Postgres, running
from replicas import ROADS, Replicas, Script, longest_wait, problems_of
from server import COMMAND

RUNS = int(os.environ.get("ARMWISE_RUNS", "10"))
SECONDS = float(os.environ.get("ARMWISE_RUN_SECONDS", "9"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as postgres:
        yield postgres


def verified(place: str) -> None:
    """The program's own look at everything: the chain, the rows, and the model summed again from them."""
    done = subprocess.run([COMMAND, "verify", place], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("number", range(RUNS))
def test_faults_lose_nothing_count_nothing_twice_and_leave_one_journal(
    postgres: Postgres, tmp_path: Path, number: int
) -> None:
    road = ROADS[number % len(ROADS)]
    with Replicas(postgres, f"run_{number}", tmp_path, road=road) as replicas:
        # Windows end during the run, so that there is work for whoever has the lease.
        begin(replicas.ports[0], "shop", reward={"window": "2s"})
        load = Load(replicas.ports, "shop", tmp_path, clients=6, seed=number, patience=2)
        script = Script(replicas, "shop", number)
        with load:
            time.sleep(0.5)
            script.run(SECONDS)
            replicas.heal()
            time.sleep(0.5)
        problems, journal, history = problems_of(replicas, load, "shop")
        assert not problems, (road, script.times, problems[:20])
        answered = [line for line in history if line["status"] in (200, 201)]
        again = [line for line in answered if line["tries"] > 1]
        faults = Counter(script.told)
        print(
            f"run {number}, {road}: {len(answered)} answers, {len(again)} after retries,"
            f" {len(journal.entries)} entries;",
            end=" ",
        )
        print(", ".join(f"{kind} {count}" for kind, count in sorted(faults.items())), end="; ")
        from_, waited = longest_wait(history, script.began)
        print(f"nobody was answered from {from_:.1f} s for {waited:.1f} s: {script.around(from_, from_ + waited)}")
        # On a busy machine faults take longer and leave less time between them.
        assert len(answered) > 5 * SECONDS, ("too little load to mean anything", len(answered), script.times)
        # A fault makes requests fail or wait.
        met = [line for line in history if line["tries"] > 1 or line["end"] - line["start"] > 0.3]
        assert len(met) >= len(script.told) / 2, ("too few requests met a fault", len(met), script.times)
        verified(replicas.journal("shop"))
