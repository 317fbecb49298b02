"""What replicas over PostgreSQL do in a second, beside one server over SQLite: `make bench-replicas`, short: `--quick`.

wrk, one process for each replica, sends decisions and rewards with 48 connections in all. PostgreSQL runs on the same
machine and syncs every commit, as SQLite does. Servers, PostgreSQL and wrk share the cores, so beside the rates there
is the processor time that each took for a request, which does not depend on how many cores there are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python" / "service_tests"))
sys.path.insert(0, str(HERE))
from postgres import Postgres, children  # noqa: E402
from serve import features, put, rules, slates  # noqa: E402
from server import Server  # noqa: E402

CONNECTIONS = 48
TICK = os.sysconf("SC_CLK_TCK")


def metrics(servers: list[Server]) -> dict[str, float]:
    """The sum over the servers of everything that `/metrics` tells, without labels."""
    total: dict[str, float] = defaultdict(float)
    for server in servers:
        for line in server.ask("GET", "/metrics")[2].decode().splitlines():
            found = re.match(r"(armwise_\w+)(?:\{[^}]*\})? (\S+)$", line)
            if found and "_bucket" not in line:
                total[found[1]] += float(found[2])
    return total


def cpu(pids: list[int]) -> float:
    """Seconds of processor time of these processes and of what they have waited for."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / TICK
    return total


def busy() -> float:
    """Seconds that all cores have spent on something."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / TICK


def wrk(port: int, path: str, bodies: Path, kind: str, connections: int, seconds: int) -> subprocess.Popen[str]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(HERE / "serve.lua")]
    command += [f"http://127.0.0.1:{port}{path}", "--", str(bodies), kind, f"at{port}-"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def load(
    servers: list[Server], postgres: Postgres | None, path: str, bodies: list[Path], kind: str, seconds: int
) -> dict[str, Any]:
    """One measurement: so many wrk as servers, at once."""
    own = [server.process.pid for server in servers if server.process]
    database = [postgres.process.pid] if postgres and postgres.process else []
    before, began = metrics(servers), (cpu(own), busy(), time.time())
    commits_before = [metrics([server])["armwise_batch_commands_count"] for server in servers]
    of_database = cpu([*database, *(pid for parent in database for pid in children(parent))])
    share = CONNECTIONS // len(servers)
    running = [wrk(server.port, path, file, kind, share, seconds) for server, file in zip(servers, bodies, strict=True)]
    told = [json.loads(process.communicate(timeout=seconds + 60)[0].strip().splitlines()[-1]) for process in running]
    of_database = cpu([*database, *(pid for parent in database for pid in children(parent))]) - of_database
    after = metrics(servers)
    change = {name: after[name] - before.get(name, 0.0) for name in after}
    good = sum(row["good"] for row in told)
    taken = time.time() - began[2]

    def mean(name: str) -> float:
        count = change.get(f"{name}_count", 0.0)
        return 1000 * change.get(f"{name}_sum", 0.0) / count if count else 0.0

    commits = change.get("armwise_batch_commands_count", 0.0)
    shares = [
        (metrics([server])["armwise_batch_commands_count"] - first) / max(commits, 1)
        for server, first in zip(servers, commits_before, strict=True)
    ]
    return {
        "rate": good / max(row["seconds"] for row in told),
        "p50": sum(row["p50"] * row["good"] for row in told) / max(good, 1),
        "p99": max(row["p99"] for row in told),
        "errors": sum(row["errors"] for row in told),
        "again": max(0.0, sum(row["requests"] for row in told) - sum(file.read_text().count("\n") for file in bodies))
        if kind == "path"
        else 0.0,
        "least share": min(shares),
        "most share": max(shares),
        "batch": change.get("armwise_batch_commands_sum", 0.0) / max(commits, 1),
        "conflicts": change.get("armwise_conflicts_total", 0.0) / max(change.get("armwise_appends_total", commits), 1),
        "choose ms": mean("armwise_choose_seconds"),
        "queue ms": mean("armwise_queue_seconds"),
        "commit ms": mean("armwise_commit_seconds"),
        "server µs": 1e6 * (cpu(own) - began[0]) / max(good, 1),
        "postgres µs": 1e6 * of_database / max(good, 1),
        "cores": (busy() - began[1]) / taken,
    }


def rewards(servers: list[Server], folder: Path, count: int) -> list[Path]:
    """A reward for each arm of so many decisions, a file for each server. They come in random order, since arms of one
    decision seldom answer at once, and to any server, whoever decided."""
    draw, path = random.Random(count), "/v1/campaigns/slates/decisions"
    arms = [{"id": f"a{i}", "features": features(draw, 11)} for i in range(20)]

    def decide(number: int) -> list[str]:
        told = put(servers[number % len(servers)], path, {"arms": arms, "k": 5}, "POST", f"prep-{number}")
        return [f'PUT {path}/{told["decision"]}/rewards {{"rewards":{{"{arm["id"]}":1}}}}\n' for arm in told["arms"]]

    with ThreadPoolExecutor(24) as pool:
        lines = [line for own in pool.map(decide, range(count)) for line in own]
    draw.shuffle(lines)
    files = [folder / f"rewards-{number}" for number in range(len(servers))]
    for number, file in enumerate(files):
        file.write_text("".join(lines[number :: len(servers)]))
    return files


def measure(count: int, store: str, seconds: int, prepared: int) -> list[dict[str, Any]]:
    """Decisions, then rewards for decisions, on `count` replicas, or on one server with a file."""
    rows = []
    folder = Path(tempfile.mkdtemp(prefix="armwise-bench-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, True)
        postgres = stack.enter_context(Postgres({"shared_buffers": "256MB"})) if store == "PostgreSQL" else None
        where = ["--store", postgres.url] if postgres else []
        servers = [stack.enter_context(Server(folder / f"data-{n}", "--quiet", *where)) for n in range(count)]
        for server in servers:
            server.start().wait_until_ready()
        put(servers[0], "/v1/campaigns/slates", rules(11))
        bodies = [slates(folder)] * count
        path = "/v1/campaigns/slates/decisions"
        load(servers, postgres, path, bodies, "body", 1)
        about = {"store": store, "replicas": count}
        rows.append({**about, "case": "decisions"} | load(servers, postgres, path, bodies, "body", seconds))
        # As many as can be learned in so many seconds: a reward that comes again is cheaper, since nothing is written.
        files = rewards(servers, folder, prepared)
        rows.append({**about, "case": "rewards"} | load(servers, postgres, "/", files, "path", min(seconds, 4)))
        for server in servers:
            server.stop(60)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seconds each")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        subprocess.run(["apt-get", "update", "-qq"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], check=True, stdout=subprocess.DEVNULL)
    idle = busy()
    time.sleep(2)
    print(f"before: {(busy() - idle) / 2:.2f} of {os.cpu_count()} cores are busy with something else")
    rows = []
    for store, count in (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2), ("PostgreSQL", 3)):
        prepared = 800 if given.quick else 6000 if store == "SQLite" else 3000
        rows += measure(count, store, 2 if given.quick else 12, prepared)
    names = [name for name in rows[0] if name not in ("store", "replicas", "case")]
    print(f"{'case':10} {'store':11} {'n':>2} " + " ".join(f"{name:>11}" for name in names))
    for row in sorted(rows, key=lambda row: (row["case"], row["store"] != "SQLite", row["replicas"])):
        print(
            f"{row['case']:10} {row['store']:11} {row['replicas']:2} "
            + " ".join(f"{row[name]:11.2f}" for name in names)
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return 1 if any(row["errors"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
