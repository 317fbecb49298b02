"""Replicas over one PostgreSQL, each behind a proxy of its own, and a script of faults drawn from a seed.

The roads from a replica to PostgreSQL: `direct` through its proxy; `pooled` through its proxy and one PgBouncer in
transaction mode; `behind` through PgBouncer and one proxy that all share.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from history import Journal, Line, check, check_loads, check_replicas, read, round_of
from load import Load
from postgres import PgBouncer, Postgres
from proxy import Proxy, trouble
from server import Server

ROADS = ["direct", "pooled", "behind"]
LEASE = 1.0
ENVIRONMENT = {"ARMWISE_LEASE_MS": str(int(LEASE * 1000))}


class Replicas:
    """So many servers over one database. `close` ends them; the database stays, so that it can be read."""

    def __init__(self, postgres: Postgres, database: str, folder: Path, count: int = 3, road: str = "direct") -> None:
        self.postgres, self.database, self.road = postgres, database, road
        self.direct = postgres.fresh(database)
        self.stack = contextlib.ExitStack()
        self.bouncer: PgBouncer | None = None
        self.proxies: list[Proxy] = []
        ports: list[int] = []
        if road == "behind":
            self.proxies = [self.stack.enter_context(Proxy(postgres.port))]
            self.bouncer = self.stack.enter_context(PgBouncer(postgres, self.proxies[0].port))
            ports = [self.bouncer.port] * count
        else:
            target = postgres.port
            if road == "pooled":
                self.bouncer = self.stack.enter_context(PgBouncer(postgres))
                target = self.bouncer.port
            self.proxies = [self.stack.enter_context(Proxy(target)) for _ in range(count)]
            ports = [proxy.port for proxy in self.proxies]
        self.servers = [
            Server(
                folder / f"replica-{number}",
                "--quiet",
                "--store",
                postgres.url_at(port, database),
                environment=ENVIRONMENT,
            )
            for number, port in enumerate(ports)
        ]

    def __enter__(self) -> Replicas:
        try:
            for server in self.servers:
                server.start()
            for server in self.servers:
                server.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for server in self.servers:
            server.kill()
        self.stack.close()

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self.servers]

    def journal(self, campaign: str) -> str:
        """Where the checker reads the journal: past all proxies."""
        return f"{self.direct}#{campaign}"

    def holder(self, campaign: str) -> Server | None:
        """Whoever has the lease of a campaign's background work."""
        rows = self.postgres.ask(
            "SELECT l.holder FROM armwise.lease l JOIN armwise.campaign c ON c.id = l.campaign"
            f" WHERE c.name = '{campaign}' AND l.until > now()",
            self.database,
        )
        for server in self.servers:
            if rows and server.process is not None and str(server.process.pid) in rows[0]:
                return server
        return None

    def heal(self) -> None:
        """Everything runs and everything passes."""
        for proxy in self.proxies:
            proxy.heal()
        for server in self.servers:
            assert server.process is not None
            if server.process.poll() is not None:
                server.start()
            server.process.send_signal(signal.SIGCONT)
        for server in self.servers:
            server.wait_until_ready()

    def loads(self, campaign: str, seq: int) -> dict[str, dict[str, Any]]:
        """What each replica has in memory once it knows `seq`: its last entry, and the model that it chooses with."""
        loads = {}
        for number, server in enumerate(self.servers):
            path, headers = f"/v1/campaigns/{campaign}", {"Armwise-Seq": str(seq)}
            status, _, answer = server.ask("GET", path, None, headers, timeout=30)
            assert status == 200, (status, answer)
            loads[f"replica {number}"] = json.loads(answer)["load"]
        return loads

    def logs(self, campaign: str, seq: int) -> dict[str, list[dict[str, Any]]]:
        """The whole journal as each replica shows it, at least as new as `seq`."""
        return {f"replica {number}": whole_log(server, campaign, seq) for number, server in enumerate(self.servers)}


def whole_log(server: Server, campaign: str, seq: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    while True:
        path = f"/v1/campaigns/{campaign}/log?after={entries[-1]['seq'] if entries else 0}"
        status, _, answer = server.ask("GET", path, None, {"Armwise-Seq": str(seq)}, timeout=30)
        assert status == 200, (status, answer)
        more = json.loads(answer)["entries"]
        if not more:
            return entries
        entries += more


class Script:
    """Faults, one after another, each drawn from the seed; what happened is in `told`, and when in `times`."""

    def __init__(self, replicas: Replicas, campaign: str, seed: int) -> None:
        self.replicas, self.campaign = replicas, campaign
        self.draw = random.Random(seed)
        self.told: list[str] = []
        self.times: list[str] = []
        self.began = time.time()

    def run(self, seconds: float) -> None:
        first = time.monotonic()
        end, self.began = first + seconds, time.time()
        # Every kind comes once in each turn, in an order of the seed, so that a short run has most of them.
        while True:
            kinds = [self.kill, self.pause, self.crash, self.network, self.network, self.holder, self.pooler]
            self.draw.shuffle(kinds)
            for kind in kinds:
                if time.monotonic() > end:
                    return
                began = time.monotonic()
                kind()
                if self.told:
                    self.times.append(f"{began - first:.1f} to {time.monotonic() - first:.1f} {self.told[-1]}")
                time.sleep(self.draw.uniform(0.1, 0.5))

    def around(self, first: float, last: float) -> list[str]:
        """The faults that touched a span of the run."""
        spans = [(line, float(line.split()[0]), float(line.split()[2])) for line in self.times]
        return [line for line, began, ended in spans if began < last and ended > first]

    def server(self) -> Server:
        return self.draw.choice(self.replicas.servers)

    def kill(self) -> None:
        server = self.server()
        server.kill()
        time.sleep(self.draw.uniform(0, 0.5))
        server.start()
        self.told.append("kill")
        if self.draw.random() < 0.7:
            server.wait_until_ready()

    def pause(self) -> None:
        server, seconds = self.server(), self.draw.uniform(0.1, 1.5)
        self.stopped(server, seconds)
        self.told.append("pause")

    def holder(self) -> None:
        """Whoever works for all is stopped until another has taken over, and then goes on where it was."""
        server = self.replicas.holder(self.campaign)
        if server is not None:
            self.stopped(server, LEASE * 1.7)
            self.told.append("pause of the lease's holder")

    @staticmethod
    def stopped(server: Server, seconds: float) -> None:
        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            server.process.send_signal(signal.SIGCONT)

    def crash(self) -> None:
        self.replicas.postgres.kill()
        time.sleep(self.draw.uniform(0, 0.5))
        self.replicas.postgres.start()
        self.told.append("crash of PostgreSQL")

    def network(self) -> None:
        proxy = self.draw.choice(self.replicas.proxies)
        self.told.append(f"network: {trouble(proxy, self.draw, self.draw.uniform(0.2, 1.5))}")

    def pooler(self) -> None:
        bouncer = self.replicas.bouncer
        if bouncer is not None:
            bouncer.kill()
            time.sleep(self.draw.uniform(0, 0.3))
            bouncer.start()
            self.told.append("kill of the pooler")


def check_replay(replicas: Replicas, campaign: str, journal: Journal, history: list[Line]) -> list[str]:
    """What each replica computes anew of some decisions is what was stored, to the bit, whoever made them."""
    told = [json.loads(line["answer"]) for line in history if line["op"] == "decide" and line["status"] in (200, 201)]
    problems, names = [], ("mean", "width", "draw", "score")
    for number, server in enumerate(replicas.servers):
        for decided in random.Random(number).sample(told, min(4, len(told))):
            rows = {row["customer"]: row for row in journal.decisions[round_of(decided["decision"])]}
            arm = decided["arms"][0]["id"]
            path = f"/v1/campaigns/{campaign}/why?id={arm}&decision={decided['decision']}"
            status, _, answer = server.ask("GET", path, timeout=30)
            assert status == 200, (status, answer)
            (why,) = json.loads(answer)["promotions"]
            anew, stored = [why[name] for name in names], [rows[arm][name] for name in names]
            if anew != stored:
                problems.append(
                    f"replay: replica {number} finds {anew} for {arm} in {decided['decision']}, not {stored}"
                )
    return problems


def problems_of(replicas: Replicas, load: Load, campaign: str) -> tuple[list[str], Journal, list[Line]]:
    """What the checker finds after all faults are over: in the journal, in what clients saw, on every replica."""
    history = read(load.files)
    for _ in range(20):
        quiet(replicas)
        journal = Journal(replicas.journal(campaign))
        last = journal.entries[-1]["seq"]
        logs, loads = replicas.logs(campaign, last), replicas.loads(campaign, last)
        # The clock may have added an entry meanwhile.
        if newest(replicas) == last:
            break
    problems = check(journal, history) + check_replicas(journal, logs) + check_loads(journal, loads)
    return problems + check_replay(replicas, campaign, journal, history), journal, history


def longest_wait(history: list[Line], since: float) -> tuple[float, float]:
    """The longest time in which no client got an answer to a decision or a reward: when after `since`, how long."""
    ends = sorted(line["end"] for line in history if line["status"] in (200, 201) and line["key"] is not None)
    gaps = [(later - sooner, sooner - since) for sooner, later in itertools.pairwise(ends)]
    longest, began = max(gaps, default=(0.0, 0.0))
    return began, longest


def newest(replicas: Replicas) -> int:
    return int(replicas.postgres.ask("SELECT max(seq) FROM armwise.campaign", replicas.database)[0])


def quiet(replicas: Replicas) -> None:
    """Waits until nothing is written any more: what was heard is learned, and background work is done."""
    last, since = 0, time.monotonic()
    while time.monotonic() - since < 0.7:
        now = newest(replicas)
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
