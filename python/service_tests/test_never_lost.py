"""Never lost, never twice: kills at random moments under load, power cuts, a full disk, a hundred at once.

ARMWISE_KILLS sets the number of kills (200 unless told; `make serve-soak` 2,000).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from pathlib import Path

from history import Journal, check, read
from load import ARMS, Load, begin
from server import COMMAND, Server, serving

KILLS = int(os.environ.get("ARMWISE_KILLS", "200"))


def verified(path: Path) -> None:
    """The program's own look at everything: the chain, the rows, and the model summed again from them."""
    done = subprocess.run([COMMAND, "verify", str(path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kill_nine_under_load_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    draw = random.Random(5)
    server = Server(tmp_path / "data").start().wait_until_ready()
    begin(server.port, "shop")
    load = Load(server.port, "shop", tmp_path, catalogue=True)
    try:
        with load:
            for number in range(1, KILLS + 1):
                time.sleep(draw.uniform(0.02, 0.4))
                if number % 10 == 0:
                    # A slow machine gets more time, so that the kills meet something.
                    load.wait_for_answers(22 * number)
                server.kill()
                server.start().wait_until_ready()
            load.wait_for_answers(22 * KILLS)
        assert server.stop() == 0
    finally:
        server.kill()
    history, journal = read(load.files), Journal(tmp_path / "data" / "shop.armwise")
    problems = check(journal, history)
    assert not problems, problems[:20]
    answered = [line for line in history if line["status"] in (200, 201)]
    again = [line for line in answered if line["tries"] > 1]
    assert len(answered) > 20 * KILLS, "too little load to mean anything"
    assert len(again) > KILLS // 2, "too few requests met a kill"
    verified(tmp_path / "data" / "shop.armwise")
    print(f"{KILLS} kills, {len(answered)} answers, {len(again)} after retries, {len(journal.entries)} entries")


def test_the_same_reward_sent_a_hundred_times_at_once_is_learned_once(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        begin(server.port, "shop")
        body = json.dumps({"arms": [{"id": name, "features": x} for name, x in ARMS[:10]], "k": 3}).encode()
        head = {"Content-Type": "application/json"}
        status, _, answer = server.ask("POST", "/v1/campaigns/shop/decisions", body, {**head, "Idempotency-Key": "d"})
        assert status in (200, 201), answer
        told = json.loads(answer)
        rewards = json.dumps({"rewards": {told["arms"][0]["id"]: 0.75}}).encode()
        answers: list[dict[str, str]] = []

        def send(number: int) -> None:
            keyed = {**head, "Idempotency-Key": f"r{number}"} if number % 2 else head
            path = f"/v1/campaigns/shop/decisions/{told['decision']}/rewards"
            status, _, answer = server.ask("PUT", path, rewards, keyed)
            assert status == 200, answer
            answers.extend(arm["outcome"] for arm in json.loads(answer)["arms"])

        threads = [threading.Thread(target=send, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == ["applied"] + ["known"] * 99
        assert server.stop() == 0
    outcomes = Journal(tmp_path / "data" / "shop.armwise").outcomes
    assert [row["reward"] for row in outcomes] == [0.75]
    verified(tmp_path / "data" / "shop.armwise")
