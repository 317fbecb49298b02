"""Replicas of two versions over one database: the next version of the tables beside this one, and after it.

The next version is a program of its own (`examples/next.rs` of the server), built from this one with a step more.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from history import Journal, check, read
from load import Load, begin
from postgres import Postgres, running
from replicas import Replicas, quiet, whole_log
from server import Server
from test_replicas_promises import armwise, decide, decided, refusal, until


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as postgres:
        yield postgres


class Next(Server):
    """A replica of the next version; `how` says whether those of this one may go on `beside` it."""

    def __init__(self, data: Path, store: str, how: str) -> None:
        super().__init__(data)
        command = os.environ.get("ARMWISE_NEXT")
        if not command:
            assert not os.environ.get("CI"), "ARMWISE_NEXT is not set"
            pytest.skip("ARMWISE_NEXT names no program")
        self.line = [command, store, str(data), f"127.0.0.1:{self.port}", how]


def version(postgres: Postgres, database: str) -> tuple[int, int]:
    now, oldest = postgres.ask("SELECT version || ' ' || oldest FROM armwise.schema", database)[0].split()
    return int(now), int(oldest)


def test_replicas_are_upgraded_one_by_one_under_load_where_the_next_version_lets_this_one_go_on(
    postgres: Postgres, tmp_path: Path
) -> None:
    with Replicas(postgres, "beside", tmp_path, count=2) as replicas:
        one, two = replicas.servers
        with Next(tmp_path / "next", replicas.direct, "beside") as new:
            begin(one.port, "shop")
            before = version(postgres, "beside")
            load = Load([*replicas.ports, new.port], "shop", tmp_path, clients=6, patience=5)
            with load:
                load.wait_for_answers(50)
                # Replica two is replaced; replica one stays what it is, and is even started again.
                assert two.stop() == 0
                new.start().wait_until_ready()
                assert version(postgres, "beside") == (before[0] + 1, before[1])
                load.wait_for_answers(150)
                one.kill()
                one.start().wait_until_ready()
                load.wait_for_answers(250)
            quiet(replicas)
            history, journal = read(load.files), Journal(replicas.journal("shop"))
            assert not check(journal, history)
            answered = {line["port"] for line in history if line["op"] == "decide" and line["status"] in (200, 201)}
            assert answered >= {one.port, new.port}, "both versions wrote"
            # Each gives the other's answers again, and shows the same journal.
            for writer, reader, key in ((one, new, "by-this"), (new, one, "by-the-next")):
                assert decided(writer, [key]) == decided(reader, [key])
            last = Journal(replicas.journal("shop")).entries[-1]["seq"]
            logs = [whole_log(server, "shop", last) for server in (one, new)]
            assert [entry["hash"] for entry in logs[0]] == [entry["hash"] for entry in logs[1]]
            armwise("verify", replicas.journal("shop"))


def test_replicas_of_this_version_refuse_clearly_once_one_has_started_that_they_cannot_go_on_beside(
    postgres: Postgres, tmp_path: Path
) -> None:
    with Replicas(postgres, "alone", tmp_path, count=2) as replicas:
        one, two = replicas.servers
        with Next(tmp_path / "next", replicas.direct, "alone") as new:
            begin(one.port, "shop")
            load = Load(replicas.ports, "shop", tmp_path, clients=4, patience=5)
            with load:
                load.wait_for_answers(100)
                # Under load, so that appends of the old ones are under way while the tables change.
                new.start().wait_until_ready()
                for server in replicas.servers:
                    assert until(lambda: refusal(server, "late") == "newer-schema"), refusal(server, "late")  # noqa: B023
                settled = Journal(replicas.journal("shop")).entries
                time.sleep(1)
            now, oldest = version(postgres, "alone")
            assert now == oldest
            after = Journal(replicas.journal("shop"))
            # The new one may still learn what was heard, which no client asks for.
            later = [entry["kind"] for entry in after.entries[len(settled) :]]
            assert set(later) <= {"fold", "checkpoint"}, "they wrote nothing"
            # What was acknowledged is there, once; nothing broke but by the refusal that says what to do.
            history = read(load.files)
            for line in history:
                if line["broke"] is not None:
                    assert "newer-schema" in line["broke"], line["broke"]
                    line["broke"] = None
            assert not check(after, [line for line in history if line["status"] != 500])
            status, answer = decide(one, "late")
            assert (status, answer["type"].rpartition(":")[2]) == (500, "newer-schema")
            assert str(now) in answer["detail"], answer
            assert "newer version" in json.dumps(answer), answer
            told = armwise("status", replicas.journal("shop"), code=6)
            assert str(now) in told, told
            # One that is started again does not come up ready, and the upgraded one goes on where they stopped.
            two.kill()
            two.start()
            assert until(lambda: refusal(two, "late") == "newer-schema" or two.process.poll() is not None)  # type: ignore[union-attr]
            kept = next(line for line in history if line["op"] == "decide" and line["status"] in (200, 201))
            again = new.ask(
                "POST",
                kept["path"],
                kept["request"].encode(),
                {"Content-Type": "application/json", "Idempotency-Key": kept["key"]},
            )
            assert again[2].decode() == kept["answer"], "the same bytes for the same key"
            assert decided(new, ["late"])[0]["seq"] > after.entries[-1]["seq"]
