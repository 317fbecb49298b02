"""The checker of histories can fail: a good history passes, and each kind of damage to it is found."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from history import Journal, Line, check, check_loads, check_replicas, read
from load import Load, begin
from server import serving


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Line]]:
    """Some seconds of three clients."""
    folder = tmp_path_factory.mktemp("good")
    with serving(folder / "data") as server:
        begin(server.port, "shop")
        load = Load(server.port, "shop", folder, clients=3, catalogue=True)
        with load:
            load.wait_for_answers(600)
        assert server.stop() == 0
    return folder / "data" / "shop.armwise", read(load.files)


def test_a_good_history_passes(recorded: tuple[Path, list[Line]]) -> None:
    path, history = recorded
    assert check(Journal(path), history) == []
    for op in ("decide", "reward", "look", "arms"):
        assert any(line["op"] == op and line["status"] in (200, 201) for line in history), op


def edited(path: Path, folder: Path, *statements: str) -> Path:
    """A copy of the file after these statements, its triggers gone."""
    copy = folder / "forged.armwise"
    source = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    target = sqlite3.connect(copy)
    source.backup(target)
    source.close()
    for (name,) in target.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        target.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        target.execute(statement)
    target.commit()
    target.close()
    return copy


FORGED = {
    "lost": "DELETE FROM entry WHERE seq = (SELECT max(seq) FROM entry WHERE kind = 'choose')",
    "gap": "DELETE FROM entry WHERE seq = 3",
    "chain": "UPDATE entry SET body = body || ' ' WHERE seq = 3",
    "other": "UPDATE decision SET score = score + 1 WHERE id = (SELECT min(id) FROM decision)",
    "rows": "UPDATE outcome SET reward = reward + 1 WHERE seq = (SELECT min(seq) FROM outcome)",
    "twice": "INSERT INTO outcome SELECT (SELECT max(seq) FROM entry WHERE kind = 'learn'), 999, decision, reward,"
    " examined FROM outcome WHERE seq = (SELECT min(seq) FROM outcome) LIMIT 1",
    "model": "UPDATE entry SET model = hash",
    "fork": "UPDATE entry SET hash = model",
}


@pytest.mark.parametrize("word", FORGED)
def test_a_damaged_journal_is_found(recorded: tuple[Path, list[Line]], tmp_path: Path, word: str) -> None:
    path, history = recorded
    problems = check(Journal(edited(path, tmp_path, FORGED[word])), history)
    assert any(problem.startswith(word) for problem in problems), problems[:5]


def stale(history: list[Line]) -> None:
    line = next(line for line in history if line["op"] == "look" and line["seq"] > 1)
    line["asked_seq"] = line["seq"] + 1


def other_bytes(history: list[Line]) -> None:
    line = next(line for line in history if line["op"] == "decide" and line["status"] in (200, 201))
    history.append({**line, "answer": line["answer"].replace('"rank":1', '"rank": 1')})


def unheard_reward(history: list[Line]) -> None:
    line = next(line for line in history if line["op"] == "reward" and '"applied"' in line["answer"])
    told = json.loads(line["answer"])
    wanted = json.loads(line["request"])
    for arm in wanted["rewards"]:
        wanted["rewards"][arm] += 5.0
    history.append({**line, "key": None, "answer": json.dumps(told), "request": json.dumps(wanted)})


def forgotten(history: list[Line]) -> None:
    """A replica that does not know what another one has acknowledged."""
    history.append({**history[-1], "status": 412})


def broken(history: list[Line]) -> None:
    """An answer of 500 that a client got past by trying again."""
    history[0]["broke"] = "{}"


def refused(history: list[Line]) -> None:
    """A decision that was given once and could not be given again."""
    line = next(line for line in history if line["op"] == "decide" and line["status"] in (200, 201))
    history.append({**line, "status": 404, "answer": "{}"})


DOCTORED: dict[str, Callable[[list[Line]], None]] = {
    "stale": stale,
    "bytes": other_bytes,
    "other": unheard_reward,
    "lost": forgotten,
    "failure": broken,
    "refused": refused,
}


@pytest.mark.parametrize("word", DOCTORED)
def test_a_broken_promise_in_the_history_is_found(recorded: tuple[Path, list[Line]], word: str) -> None:
    path, history = recorded
    copy = [dict(line) for line in history]
    DOCTORED[word](copy)
    problems = check(Journal(path), copy)
    assert any(problem.startswith(word) for problem in problems), problems[:5]


def test_a_journal_without_its_last_second_is_found(recorded: tuple[Path, list[Line]], tmp_path: Path) -> None:
    """What a server that answers before it syncs would leave after a cut."""
    path, history = recorded
    copy = tmp_path / "old.armwise"
    shutil.copy(path, copy)
    last = Journal(path).entries[-1]["seq"] - 20
    forged = edited(
        path,
        tmp_path,
        f"DELETE FROM entry WHERE seq > {last}",
        f"DELETE FROM decision WHERE seq > {last}",
        f"DELETE FROM outcome WHERE seq > {last}",
    )
    assert sum(problem.startswith("lost") for problem in check(Journal(forged), history)) >= 5


def test_a_replica_that_shows_another_journal_or_less_of_it_is_found(recorded: tuple[Path, list[Line]]) -> None:
    path, _ = recorded
    journal = Journal(path)
    shown = [{"seq": entry["seq"], "hash": entry["hash"], "model": entry["model"]} for entry in journal.entries]
    assert check_replicas(journal, {"one": shown, "two": shown}) == []
    for word, other in {
        "behind": shown[:-1],
        "lost": [*shown, {**shown[-1], "seq": shown[-1]["seq"] + 1}],
        "fork": [*shown[:-1], {**shown[-1], "hash": shown[0]["hash"]}],
        "model": [*shown[:-1], {**shown[-1], "model": shown[0]["hash"]}],
    }.items():
        problems = check_replicas(journal, {"one": shown, "two": other})
        assert any(problem.startswith(word) for problem in problems), (word, problems)


def test_a_replica_that_chooses_with_another_model_or_an_old_one_is_found(recorded: tuple[Path, list[Line]]) -> None:
    path, _ = recorded
    journal = Journal(path)
    first, *_, fold = [entry for entry in journal.entries if entry["kind"] == "fold"]
    good = {"seq": journal.entries[-1]["seq"], "model": fold["seq"], "model_hash": fold["model"]}
    assert check_loads(journal, {"one": good}) == []
    for word, other in {
        "model": {**good, "model_hash": first["model"]},
        "behind": {**good, "model": first["seq"], "model_hash": first["model"]},
    }.items():
        problems = check_loads(journal, {"one": good, "two": other})
        assert [problem.startswith(f"{word}: two") for problem in problems] == [True], (word, problems)
