"""Power cuts and a full disk: whatever was acknowledged before the cut is there after it.

The server runs once under a shim that records every write and sync. A client notes, for each acknowledgement, how long
the record was; what was acknowledged then must survive a cut at any later moment. On a disk whose syncs do nothing once
the campaign is there, decisions and rewards must be found lost, which shows that the test can fail. ARMWISE_CUTS sets
the number of cuts (60 unless told).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from disk import Disk, Event, events
from history import Journal, check_chain
from load import ARMS, begin
from server import COMMAND, serving

CUTS = int(os.environ.get("ARMWISE_CUTS", "60"))
SHIM = Path(__file__).parents[2] / "crates" / "armwise-cli" / "tests" / "powercut" / "shim.c"
HEAD = {"Content-Type": "application/json"}


def compiled(source: Path, folder: Path) -> Path:
    library = folder / f"{source.stem}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def decision_body(number: int) -> bytes:
    arms = random.Random(number).sample(ARMS, 8)
    return json.dumps({"arms": [{"id": name, "features": x} for name, x in arms], "k": 2}).encode()


Acknowledged = list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Event], Acknowledged]:
    """A hundred decisions with rewards, recorded; with where in the record each was acknowledged."""
    folder = tmp_path_factory.mktemp("power")
    data, log = folder / "data", folder / "log"
    data.mkdir()
    log.touch()
    shim = compiled(SHIM, folder)
    environment = {"LD_PRELOAD": str(shim), "POWERCUT_LOG": str(log), "POWERCUT_ROOT": str(data)}
    acknowledged: Acknowledged = []
    with serving(data, environment=environment) as server:
        begin(server.port, "shop")
        acknowledged.append((log.stat().st_size, "campaign", ""))
        for number in range(100):
            keyed = {**HEAD, "Idempotency-Key": f"d{number}"}
            status, _, answer = server.ask("POST", "/v1/campaigns/shop/decisions", decision_body(number), keyed)
            assert status in (200, 201), answer
            acknowledged.append((log.stat().st_size, "decide", f"d{number}"))
            told = json.loads(answer)
            rewards = json.dumps({"rewards": {told["arms"][0]["id"]: number / 100}}).encode()
            path = f"/v1/campaigns/shop/decisions/{told['decision']}/rewards"
            status, _, answer = server.ask("PUT", path, rewards, {**HEAD, "Idempotency-Key": f"r{number}"})
            assert status == 200, answer
            acknowledged.append((log.stat().st_size, "reward", f"r{number}"))
    return str(data), list(events(log.read_bytes())), acknowledged


def lost(
    played: tuple[str, list[Event], Acknowledged],
    at: int,
    folder: Path,
    *,
    honest_until: int | None = None,
    torn: int | None = None,
) -> list[str]:
    """What is missing or wrong after a cut when the record was `at` long."""
    root, record, acknowledged = played
    disk = Disk(honest_until)
    for event in record:
        if event.end > at:
            break
        disk.apply(event)
    disk.leave(root, folder, None if torn is None else random.Random(torn))
    path = folder / "shop.armwise"
    due = [(op, key) for end, op, key in acknowledged if end <= at]
    if not due:
        return []
    if not path.exists():
        return ["the campaign is gone"]
    try:
        journal = Journal(path)
    except Exception as error:
        return [f"the campaign cannot be read: {error}"]
    problems = check_chain(journal)
    problems += [f"{op} {key} is lost" for op, key in due if key and key not in journal.by_key]
    done = subprocess.run([COMMAND, "verify", str(path)], capture_output=True, text=True, timeout=600)
    return problems + ([] if done.returncode == 0 else [done.stdout + done.stderr])


def test_nothing_acknowledged_is_lost_by_a_power_cut(
    played: tuple[str, list[Event], Acknowledged], tmp_path: Path
) -> None:
    _, record, acknowledged = played
    draw = random.Random(3)
    for number in range(CUTS):
        at = draw.choice(acknowledged)[0] if number % 2 else draw.choice(record).end
        folder = tmp_path / str(number)
        folder.mkdir()
        problems = lost(played, at, folder, torn=number if number % 3 == 0 else None)
        assert not problems, (number, at, problems[:5])


def test_a_disk_that_lies_about_syncs_is_found(played: tuple[str, list[Event], Acknowledged], tmp_path: Path) -> None:
    """The control: the campaign survives, and what was acknowledged after it is named as lost."""
    _, _, acknowledged = played
    made, *later = acknowledged
    for number, (at, op, key) in enumerate(later[::37]):
        folder = tmp_path / str(number)
        folder.mkdir()
        problems = lost(played, at, folder, honest_until=made[0])
        assert f"{op} {key} is lost" in problems, problems[:5]


def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    data, flag = tmp_path / "data", tmp_path / "full"
    shim = compiled(Path(__file__).parent / "full.c", tmp_path)
    environment = {"LD_PRELOAD": str(shim), "FULL_ROOT": str(data), "FULL_WHEN": str(flag)}
    with serving(data, environment=environment) as server:
        begin(server.port, "shop")

        def decide(key: str) -> tuple[int, bytes]:
            keyed = {**HEAD, "Idempotency-Key": key}
            status, _, answer = server.ask("POST", "/v1/campaigns/shop/decisions", decision_body(1), keyed)
            return status, answer

        before = decide("before")
        assert before[0] in (200, 201)
        flag.touch()
        for number in range(5):
            status, answer = decide(f"full{number}")
            assert status == 507, (status, answer)
        assert decide("before") == before, "what was acknowledged is still answered"
        flag.unlink()
        end = time.monotonic() + 60
        while (again := decide("full0"))[0] == 507 and time.monotonic() < end:
            time.sleep(0.05)
        assert again[0] in (200, 201), again
        assert server.stop() == 0
    journal = Journal(data / "shop.armwise")
    assert not check_chain(journal)
    assert {"before", "full0"} <= set(journal.by_key)
    assert "full1" not in journal.by_key
