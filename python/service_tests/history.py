"""Checks a recorded history of a service against the journal that it left: a program of its own, standard library only.

    python history.py spring.armwise history-*.jsonl
    python history.py postgres://user:password@host/database#spring history-*.jsonl

It reads the journal as a SQLite file, or from PostgreSQL with psql, and knows the service only through what the clients
wrote down. What must hold:

- No lost acknowledgement: every decision and reward that was answered with 2xx is in the journal.
- Nothing twice: one entry for a key, one first reward for an arm of a decision.
- The same key has the same bytes, whenever it was asked, whatever became of the arms since.
- The sequence has no gaps, and every entry has its hash over the one before.
- One model for each entry: what clients were told of the model at an entry is what the entry says, by any replica.
- A replica chooses with the newest model, and the model in its memory has the hash that the journal says.
- One journal: the entries that a replica shows are those of the journal, and each replica shows all of them.
- Read your writes: an answer is at least as new as what its client had seen, and so are the facts in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Row = dict[str, Any]
TABLES = {"entry": "seq", "decision": "id", "outcome": "seq, number"}


def from_sqlite(path: Path) -> list[list[Row]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return [
            [dict(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}")]
            for table, order in TABLES.items()
        ]


def from_postgres(url: str) -> list[list[Row]]:
    """PostgreSQL writes a number of 64 bits so that it reads back as the same bits, also in JSON."""
    url, _, name = url.partition("#")
    folders = [str(folder / "bin") for folder in sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True)]
    psql = shutil.which("psql", path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    assert psql is not None, "psql is missing"
    of_campaign = f"campaign = (SELECT id FROM armwise.campaign WHERE name = '{name}')"
    selects = [
        f"SELECT row_to_json(t)::text FROM (SELECT '{table}' AS table, r.* FROM armwise.{table} r WHERE {of_campaign}"
        f" ORDER BY {order}) t"
        for table, order in TABLES.items()
    ]
    # One snapshot of all tables, as a reader beside writers needs it.
    script = ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *selects, "COMMIT"]
    command = [psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *(f"--command={line}" for line in script), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tables: dict[str, list[Row]] = {table: [] for table in TABLES}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        tables[row["table"]].append(row)
    return list(tables.values())


class Journal:
    """What a campaign's tables say, read without the program that wrote them."""

    def __init__(self, source: Path | str) -> None:
        tables = from_postgres(source) if isinstance(source, str) else from_sqlite(source)
        self.entries, decisions, self.outcomes = tables
        self.decisions: dict[int, list[Row]] = defaultdict(list)
        for row in decisions:
            self.decisions[row["id"] >> 32].append(row)
        self.by_key = {entry["key"]: entry for entry in self.entries if entry["key"] is not None}
        self.by_seq = {entry["seq"]: entry for entry in self.entries}


def chain(entry: Row, before: str) -> str:
    """The hash that an entry must have, as docs/campaign-file.md describes it."""
    digest = hashlib.sha256()
    round_ = "" if entry["round"] is None else str(entry["round"])
    parts = [before, str(entry["seq"]), entry["at"], entry["kind"], round_, entry["key"] or "", entry["body"]]
    parts += [entry["changes"], str(entry["rows"]), entry["digest"], entry["model"]]
    for part in parts:
        data = part.encode()
        digest.update(struct.pack("<Q", len(data)) + data)
    return digest.hexdigest()


def outcomes_digest(rows: Iterable[Row]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(struct.pack("<Q", row["decision"]))
        examined = row["examined"]
        flags = (row["reward"] is not None) + 4 * (examined is not None)
        digest.update(struct.pack("<B", flags) + struct.pack("<d", row["reward"] or 0.0))
        digest.update(b"" if examined is None else struct.pack("<d", examined))
    return digest.hexdigest()


def check_chain(journal: Journal) -> list[str]:
    problems, before = [], ""
    of_entry: dict[int, list[Row]] = defaultdict(list)
    for row in journal.outcomes:
        of_entry[row["seq"]].append(row)
    for place, entry in enumerate(journal.entries, 1):
        if entry["seq"] != place:
            problems.append(f"gap: entry {place} is missing, {entry['seq']} follows")
            break
        if chain(entry, before) != entry["hash"]:
            problems.append(f"chain: entry {place} ({entry['kind']}) does not have its hash")
        if entry["kind"] in ("learn", "correct", "undelivered"):
            rows = of_entry[place]
            if (len(rows), outcomes_digest(rows)) != (entry["rows"], entry["digest"]):
                problems.append(f"rows: the outcomes of entry {place} do not have their digest")
        before = entry["hash"]
    return problems


def round_of(decision: str) -> int:
    found = re.match(r"r(\d+)-", decision)
    return int(found.group(1)) if found else -1


def check_decisions(journal: Journal, history: list[Line]) -> list[str]:
    problems, answers = [], {}
    for line in history:
        if line["op"] != "decide":
            continue
        if line["status"] in (400, 404, 422):
            problems.append(f"refused: the decision with key {line['key']}: {line['answer']}")
        if line["status"] not in (200, 201):
            continue
        key, answer = line["key"], line["answer"]
        first = answers.setdefault(key, answer)
        if first != answer:
            problems.append(f"bytes: key {key} was answered in two ways: {first} and {answer}")
        entry = journal.by_key.get(key)
        if entry is None:
            problems.append(f"lost: the decision with key {key} was acknowledged and is not in the journal")
            continue
        told = json.loads(answer)
        if entry["kind"] == "choose" and json.loads(entry["body"]).get("model", 0) != told["model"]:
            problems.append(f"model: {told['decision']} was made with another model than its entry says")
        if entry["kind"] != "choose" or entry["round"] != round_of(told["decision"]):
            problems.append(f"other: key {key} is of {entry['kind']} {entry['round']}, not of {told['decision']}")
        rows = journal.decisions.get(entry["round"], [])
        shown = [(arm["id"], arm["score"]) for arm in told["arms"]]
        if sorted(shown) != sorted((row["customer"], row["score"]) for row in rows):
            problems.append(f"other: the arms of {told['decision']} are not those of the journal")
    for round_, rows in journal.decisions.items():
        if len({row["customer"] for row in rows}) != len(rows):
            problems.append(f"twice: round {round_} has an arm twice")
    return problems


def check_arms(journal: Journal, history: list[Line]) -> list[str]:
    """Every change of the catalogue that was acknowledged is in the journal, as the entry that the answer names."""
    changes = [line for line in history if line["op"] == "arms" and line["status"] == 200]
    entries = [(line, journal.by_key.get(line["key"])) for line in changes]
    return [
        f"lost: the arms with key {line['key']} were acknowledged as entry {line['seq']}"
        for line, entry in entries
        if entry is None or (entry["kind"], entry["seq"]) != ("arms", line["seq"])
    ]


def check_rewards(journal: Journal, history: list[Line]) -> list[str]:
    problems = []
    place = {(round_, row["customer"]): row["id"] for round_, rows in journal.decisions.items() for row in rows}
    first: dict[int, Row] = {}
    for row in journal.outcomes:
        if journal.by_seq[row["seq"]]["kind"] == "learn":
            if row["decision"] in first:
                problems.append(f"twice: decision {row['decision']:#x} has rewards by two entries")
            first[row["decision"]] = row
    answers: dict[str, str] = {}
    applied: dict[int, list[str]] = defaultdict(list)
    for line in history:
        if line["op"] != "reward" or line["status"] != 200:
            continue
        told = json.loads(line["answer"])
        wanted = json.loads(line["request"])["rewards"]
        if line["key"] and answers.setdefault(line["key"], line["answer"]) != line["answer"]:
            problems.append(f"bytes: the rewards with key {line['key']} were answered in two ways")
        for arm in told["arms"]:
            decision = place.get((round_of(told["decision"]), arm["id"]))
            row = first.get(decision) if decision is not None else None
            if arm["outcome"] in ("applied", "known"):
                if row is None:
                    problems.append(f"lost: the reward of {arm['id']} in {told['decision']} was acknowledged")
                elif row["reward"] != wanted[arm["id"]]:
                    problems.append(f"other: {arm['id']} in {told['decision']} has {row['reward']}")
                if arm["outcome"] == "applied" and decision is not None:
                    applied[decision].append(line["key"] or f"{line['client']} at {line['start']}")
            elif arm["outcome"] == "conflict":
                if row is not None and row["reward"] == wanted[arm["id"]]:
                    problems.append(f"other: a conflict about {arm['id']} in {told['decision']} that is none")
            elif arm["outcome"] not in ("late", "unknown", "held"):
                problems.append(f"words: {arm['outcome']}")
    for decision, keys in applied.items():
        if len(set(keys)) > 1:
            problems.append(f"twice: {decision:#x} was applied for {sorted(set(keys))}")
    return problems


def check_sequence(journal: Journal, history: list[Line]) -> list[str]:
    """Every answer is at least as new as what was asked for, and knows one model for an entry."""
    problems = []
    last = journal.entries[-1]["seq"] if journal.entries else 0
    for line in sorted(history, key=lambda line: (str(line["client"]), line["start"])):
        if line["status"] is None or line["status"] >= 400:
            continue
        if line["seq"] is None:
            problems.append(f"seq: an answer to {line['op']} does not say how new it is")
            continue
        own = journal.by_key.get(line["key"])
        # The answer to a key that was used before is as old as its entry, to the byte.
        repeated = own is not None and own["seq"] == line["seq"]
        if line["seq"] < line["asked_seq"] and not repeated:
            problems.append(f"stale: asked for {line['asked_seq']}, answered as of {line['seq']}")
        if line["seq"] > last:
            problems.append(f"lost: {line['seq']} was acknowledged, the journal ends at {last}")
        if line["op"] == "look":
            told = json.loads(line["answer"])["status"]
            entry = journal.by_seq.get(told["entries"])
            if told["entries"] < line["asked_seq"]:
                problems.append(f"stale: a look as of {told['entries']}, asked for {line['asked_seq']}")
            if entry is not None and entry["model"] != told["model"]:
                problems.append(f"model: entry {told['entries']} has {entry['model']}, told {told['model']}")
            if entry is not None and entry["hash"] != told["head"]:
                problems.append(f"fork: entry {told['entries']} has {entry['hash']}, told {told['head']}")
        elif line["op"] == "log":
            problems += check_shown(journal, json.loads(line["answer"])["entries"], f"port {line.get('port')}")
        elif own is not None and line["seq"] < own["seq"]:
            problems.append(f"stale: {line['key']} is entry {own['seq']}, answered as of {line['seq']}")
    return problems


def check_shown(journal: Journal, shown: list[Line], who: str) -> list[str]:
    """The entries that somebody was shown are the journal's: the same hash, the same model."""
    problems = []
    for line in shown:
        entry = journal.by_seq.get(line["seq"])
        if entry is None:
            problems.append(f"lost: {who} showed entry {line['seq']}, which is not in the journal")
        elif entry["hash"] != line["hash"]:
            problems.append(f"fork: {who} showed another entry {line['seq']}")
        elif entry["model"] != line["model"]:
            problems.append(f"model: {who} showed entry {line['seq']} with another model")
    return problems


def check_replicas(journal: Journal, logs: dict[str, list[Line]]) -> list[str]:
    """After all is quiet, each replica shows the whole journal."""
    problems = []
    for who, shown in logs.items():
        problems += check_shown(journal, shown, who)
        if [line["seq"] for line in shown] != [entry["seq"] for entry in journal.entries]:
            problems.append(f"behind: {who} shows {len(shown)} entries, the journal has {len(journal.entries)}")
    return problems


def check_loads(journal: Journal, loads: dict[str, Line]) -> list[str]:
    """After all is quiet, each replica chooses with the newest model, and it has the bits that the journal says."""
    problems, last = [], journal.entries[-1]["seq"]
    folds = [entry["seq"] for entry in journal.entries if entry["kind"] == "fold"]
    newest = folds[-1] if folds else 0
    for who, load in loads.items():
        # Before the first fold it is the model that the campaign began with.
        entry = journal.by_seq.get(load["model"] or 1)
        if entry is None or entry["model"] != load["model_hash"]:
            problems.append(f"model: {who} chooses with {load['model_hash']} as that of entry {load['model']}")
        if load["seq"] < last or load["model"] < newest:
            problems.append(
                f"behind: {who} knows {load['seq']} of {last} and the model of {load['model']}, not {newest}"
            )
    return problems


def check(journal: Journal, history: list[Line]) -> list[str]:
    """All that is wrong; empty if the promises held."""
    forgotten = [
        f"lost: {line['op']} asked for {line['asked_seq']}, which was never acknowledged, says port {line.get('port')}"
        for line in history
        if line["status"] == 412
    ]
    bad = [line for line in history if line["status"] is not None and line["status"] >= 500]
    problems = [
        f"failure: {line['op']} ended with {line['status']}: {line['answer']}"
        for line in bad
        if line["status"] not in (503, 507)
    ]
    problems += [f"failure: a try of {line['op']} broke: {line['broke']}" for line in history if line.get("broke")]
    return (
        problems
        + forgotten
        + check_chain(journal)
        + check_decisions(journal, history)
        + check_arms(journal, history)
        + check_rewards(journal, history)
        + check_sequence(journal, history)
    )


def read(files: Iterable[Path]) -> list[Line]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main() -> int:
    place, *files = sys.argv[1:]
    history = read(Path(file) for file in files)
    problems = check(Journal(place if place.startswith("postgres") else Path(place)), history)
    print("\n".join(problems[:50]))
    print(f"{len(history)} requests, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
