"""Clients that decide, reward, retry and look, and write down everything that they sent and saw.

A line of the history is one request from its first try to its answer: who, what, the key, the body, when, how it ended,
the bytes that came back. A try that ended in nothing is tried again with the same key and body, as the service's
promise allows; the line says how often. With several replicas a client goes to any of them, and a try that ended in
nothing is tried again at another one. With a catalogue, each client puts arms of its own into it, decides from them and
takes them out again, so that some decisions are asked for again that could not be made any more. What a history must
look like is in `history.py`, which shares no code with this.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

FEATURES = 4
ARMS = [
    (f"item-{i}", [round(random.Random(i * 31 + j).uniform(-0.5, 0.5), 3) for j in range(FEATURES)]) for i in range(40)
]
RULES = {
    "dim": FEATURES,
    "seed": 7,
    "algorithm": {"name": "arm-wise-ts", "lambda": 1.0, "v": 0.3},
    "rounds_per_segment": 16,
}
TRY_AGAIN = {409, 429, 500, 502, 503, 504, 507}


def begin(port: int, campaign: str, **other: Any) -> None:
    """Makes the campaign; `other` are rules that differ."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({**RULES, **other})
    connection.request("PUT", f"/v1/campaigns/{campaign}", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status in (200, 201), (answer.status, text)
    connection.close()


class Client(threading.Thread):
    """One client with one connection at a time, to any of the ports."""

    def __init__(
        self,
        number: int,
        ports: list[int],
        campaign: str,
        out: Path,
        stop: threading.Event,
        seed: int,
        patience: float,
        catalogue: bool,
    ) -> None:
        super().__init__(daemon=True)
        self.catalogue = catalogue
        self.stock: list[str] = []  # its arms in the catalogue
        self.number, self.ports, self.stop_event, self.patience = number, ports, stop, patience
        self.port = ports[number % len(ports)]
        self.base = f"/v1/campaigns/{campaign}"
        self.out = out.open("a", encoding="utf-8")
        self.random = random.Random(seed * 1000 + number)
        self.seen = 0
        self.count = 0
        self.prefix = f"c{number}-{seed}"
        self.decided: list[tuple[str, str, dict[str, Any]]] = []  # key, body, answer
        self.rewarded: list[tuple[str, str, float]] = []  # decision, arm, reward
        self.connection: http.client.HTTPConnection | None = None
        self.failure: str | None = None
        self.answered = 0

    def run(self) -> None:
        try:
            while not self.stop_event.is_set():
                self.act()
        except Exception as error:
            self.failure = f"client {self.number}: {error!r}"
        finally:
            self.out.close()

    def act(self) -> None:
        if self.catalogue and self.random.random() < 0.1:
            self.change()
        draw = self.random.random()
        if draw < 0.5 or not self.decided:
            self.decide()
        elif draw < 0.8:
            self.reward()
        elif draw < 0.9:
            self.decide_again()
        elif draw < 0.97:
            self.look()
        else:
            self.log()

    def key(self) -> str:
        self.count += 1
        return f"{self.prefix}-{self.count}"

    def change(self) -> None:
        """Puts its own arms into the catalogue, or takes one of them out."""
        if len(self.stock) > 2:
            gone = self.stock.pop()
            self.send("arms", "DELETE", f"{self.base}/arms/{gone}", None, self.key())
            return
        arms = [{"id": f"{self.prefix}-{name}", "features": x} for name, x in self.random.sample(ARMS, 6)]
        line = self.send("arms", "PATCH", f"{self.base}/arms", json.dumps({"arms": arms}), self.key())
        if line["status"] == 200:
            self.stock += [arm["id"] for arm in arms if arm["id"] not in self.stock]

    def decide(self) -> None:
        if len(self.stock) > 2 and self.random.random() < 0.3:
            body = json.dumps({"eligible": self.stock, "k": 3})
        else:
            arms = self.random.sample(ARMS, 12)
            body = json.dumps({"arms": [{"id": name, "features": x} for name, x in arms], "k": 3})
        key = self.key()
        line = self.send("decide", "POST", f"{self.base}/decisions", body, key)
        if line["status"] in (200, 201):
            self.decided.append((key, body, json.loads(line["answer"])))

    def decide_again(self) -> None:
        key, body, _ = self.random.choice(self.decided)
        self.send("decide", "POST", f"{self.base}/decisions", body, key)

    def reward(self) -> None:
        if self.rewarded and self.random.random() < 0.2:
            # The same again without a key, or another reward for the same arm: neither may count.
            decision, arm, reward = self.random.choice(self.rewarded)
            reward = self.random.choice([reward, reward + 1.0])
            self.send("reward", "PUT", f"{self.base}/decisions/{decision}/rewards", self.rewards({arm: reward}), None)
            return
        _, _, answer = self.random.choice(self.decided[-50:])
        arms = [arm["id"] for arm in answer["arms"]]
        some = self.random.sample(arms, self.random.randint(1, len(arms)))
        # A reward is a function of the decision and the arm, so that two clients' ideas of it cannot differ.
        rewards = {arm: round(random.Random(f"{answer['decision']} {arm}").random(), 6) for arm in some}
        path = f"{self.base}/decisions/{answer['decision']}/rewards"
        line = self.send("reward", "PUT", path, self.rewards(rewards), self.key())
        if line["status"] == 200:
            self.rewarded.extend((answer["decision"], arm, reward) for arm, reward in rewards.items())

    @staticmethod
    def rewards(rewards: dict[str, float]) -> str:
        return json.dumps({"rewards": rewards})

    def look(self) -> None:
        self.send("look", "GET", self.base, None, None)

    def log(self) -> None:
        """The newest entries, and perhaps more than this client has caused."""
        self.send("log", "GET", f"{self.base}/log?after={max(0, self.seen - 30)}", None, None)

    def elsewhere(self) -> None:
        """Goes to another replica, if there is one."""
        if len(self.ports) > 1:
            self.port = self.random.choice([port for port in self.ports if port != self.port])
            if self.connection is not None:
                self.connection.close()
                self.connection = None

    def send(self, op: str, method: str, path: str, body: str | None, key: str | None) -> dict[str, Any]:
        """Sends until there is an answer that is final, or the run ends."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        asked = self.seen
        if asked:
            headers["Armwise-Seq"] = str(asked)
        if self.random.random() < 0.2:
            self.elsewhere()
        line: dict[str, Any] = {"client": self.number, "op": op, "path": path, "key": key, "request": body}
        line.update(start=time.time(), asked_seq=asked, tries=0, status=None, seq=None, answer=None, broke=None)
        while True:
            line["tries"] += 1
            try:
                status, seq, answer = self.once(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                if self.connection is not None:
                    self.connection.close()
                self.connection = None
                status, seq, answer = None, None, None
            line.update(status=status, seq=seq, answer=answer, port=self.port)
            if status == 500:
                # Tried again like the others, but nobody should ever see one.
                line["broke"] = answer
            if status is not None and status not in TRY_AGAIN:
                break
            if self.stop_event.is_set() and line["tries"] > 3:
                break
            self.elsewhere()
            time.sleep(0.01)
        line["end"] = time.time()
        self.answered += line["status"] in (200, 201)
        if line["seq"] is not None:
            self.seen = max(self.seen, line["seq"])
        self.out.write(json.dumps(line) + "\n")
        return line

    def once(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, int | None, str]:
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        seq = answer.getheader("Armwise-Seq")
        assert answer.status != 503 or answer.getheader("Retry-After"), "a 503 does not say when to try again"
        return answer.status, int(seq) if seq else None, answer.read().decode()


class Load:
    """Clients that run until they are told to stop; the histories are in one file each."""

    def __init__(
        self,
        ports: int | list[int],
        campaign: str,
        folder: Path,
        clients: int = 8,
        seed: int = 1,
        patience: float = 30,
        catalogue: bool = False,
    ) -> None:
        self.stop_event = threading.Event()
        ports = [ports] if isinstance(ports, int) else ports
        self.files = [folder / f"history-{seed}-{number}.jsonl" for number in range(clients)]
        self.clients = [
            Client(number, ports, campaign, file, self.stop_event, seed, patience, catalogue)
            for number, file in enumerate(self.files)
        ]

    def wait_for_answers(self, count: int, seconds: float = 120) -> None:
        """Waits until the clients have had so many good answers: however slow the machine is, there is load."""
        end = time.monotonic() + seconds
        while sum(client.answered for client in self.clients) < count:
            failures = [client.failure for client in self.clients if client.failure]
            assert not failures, failures
            assert time.monotonic() < end, "the clients get no answers"
            time.sleep(0.01)

    def __enter__(self) -> Load:
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_event.set()
        for client in self.clients:
            client.join(120)
        assert not any(client.is_alive() for client in self.clients), "a client waits for ever"
        failures = [client.failure for client in self.clients if client.failure]
        assert not failures, failures
