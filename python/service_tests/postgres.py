"""A throw-away PostgreSQL on a free loopback port, with its own folder, and PgBouncer before it. Standard library only.

    python postgres.py run -- COMMAND...      runs the command with ARMWISE_POSTGRES, the URL of a fresh cluster

What is missing is installed from Debian (`apt-get`) where that can be done, that is as root. The cluster syncs its
writes as a real one does. PostgreSQL refuses to run as root, so root gives it to the user `postgres`, and the folder
lies in the system's folder for temporary files, where that user can reach it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

USER, PASSWORD, DATABASE = "armwise", "not-a-secret", "armwise"
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "max_connections": "60", "shared_buffers": "32MB"}
# After a crash PostgreSQL syncs its whole folder: file by file unless told, which takes seconds.
SETTINGS["recovery_init_sync_method"] = "syncfs"
PROGRAMS = {"postgresql": "initdb", "pgbouncer": "pgbouncer", "nginx": "nginx"}


class Missing(Exception):
    """A program that is not there and cannot be installed here."""


def program(name: str) -> str | None:
    """Where a program is; Debian keeps those of PostgreSQL out of the path."""
    folders = [str(folder / "bin") for folder in sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True)]
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", ""), "/usr/sbin"]))


def needed(package: str) -> str:
    """The package's program, installed if it is missing. Raises `Missing` where that cannot be done."""
    name = PROGRAMS[package]
    if program(name) is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise Missing(f"{name} is missing; install the package {package}")
        # Debian starts what it installs; a cluster or a web server that nobody asked for stays off.
        quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", package]):
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **quiet})
            if done.returncode != 0:
                raise Missing(f"{' '.join(command)} failed: {done.stderr[-1000:]}")
    found = program(name)
    if found is None:
        raise Missing(f"{package} is installed, but {name} is not found")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_user() -> dict[str, Any]:
    """For `subprocess`: root becomes `postgres`."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


def own_folder(prefix: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    return folder


def written(file: Path, text: str) -> Path:
    """A file that only the owner of its folder may read."""
    file.write_text(text)
    file.chmod(0o600)
    if os.geteuid() == 0:
        shutil.chown(file, "postgres", "postgres")
    return file


def children(pid: int) -> list[int]:
    """The processes that this one has started, from /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            if int(text.rpartition(")")[2].split()[1]) == pid:
                found.append(int(text.split()[0]))
    return found


class Postgres:
    """One cluster. The port and the data stay when it is started again; `close` removes everything."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.bin = Path(needed("postgresql")).parent
        self.folder, self.port = own_folder("armwise-pg-"), free_port()
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.settings = {**SETTINGS, **(settings or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.tls: Path | None = None

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def url_at(self, port: int, database: str = DATABASE, host: str = "127.0.0.1") -> str:
        return f"postgres://{USER}:{PASSWORD}@{host}:{port}/{database}"

    def __enter__(self) -> Postgres:
        try:
            return self.make().start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def make(self) -> Postgres:
        """Makes the cluster, with passwords as a real one has them."""
        password = written(self.folder / "password", PASSWORD)
        command = [str(self.bin / "initdb"), "-D", str(self.data), "-U", "postgres", f"--pwfile={password}"]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **as_user())
        return self

    def start(self, seconds: float = 30) -> Postgres:
        command = [str(self.bin / "postgres"), "-D", str(self.data), "-p", str(self.port), "-h", "127.0.0.1"]
        command += ["-k", str(self.folder)]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **as_user())
        end = time.monotonic() + seconds
        while True:
            done = subprocess.run(
                [str(self.bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "1"]
            )
            if done.returncode == 0:
                break
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.02)
        if not (self.folder / "made").exists():
            self.ask(f"CREATE ROLE {USER} LOGIN CREATEDB PASSWORD '{PASSWORD}'", "postgres", "postgres")
            self.ask(f"CREATE DATABASE {DATABASE} OWNER {USER}", "postgres", "postgres")
            written(self.folder / "made", "")
        return self

    def kill(self) -> None:
        """As a crash: `kill -9` of the server and of all that it started, at once."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            for pid in [*children(self.process.pid), self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        """Ends connections and shuts down in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self) -> Path:
        """Stops, copies the whole cluster aside and starts again: a backup for `put_back`."""
        self.stop()
        copy = self.folder / f"kept-{time.monotonic_ns()}"
        subprocess.run(["cp", "-a", str(self.data), str(copy)], check=True)
        self.start()
        return copy

    def put_back(self, copy: Path) -> None:
        """Restores what `keep` copied; everything later is gone."""
        self.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(copy), str(self.data)], check=True)
        self.start()

    def ask(self, statement: str, database: str = DATABASE, user: str = USER) -> list[str]:
        """The lines that psql prints for a statement; fields are separated by `|`."""
        command = [str(self.bin / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]
        command += ["-p", str(self.port), "-U", user, "-d", database, "-c", statement]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PGPASSWORD": PASSWORD}, timeout=120
        )
        if done.returncode != 0:
            raise RuntimeError(f"{statement}: {done.stderr}")
        return done.stdout.splitlines()

    def rows(self, query: str, database: str = DATABASE) -> list[dict[str, Any]]:
        """The rows of a query. PostgreSQL writes a number of 64 bits so that it reads back as the same bits."""
        return [json.loads(line) for line in self.ask(f"SELECT row_to_json(t) FROM ({query}) t", database)]

    def fresh(self, name: str) -> str:
        """The URL of a new, empty database."""
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "postgres", "postgres")
        self.ask(f"CREATE DATABASE {name} OWNER {USER}", "postgres", "postgres")
        return self.url_at(self.port, name)

    def with_tls(self) -> Path:
        """Gives the cluster a certificate for `localhost`, signed by an authority made here, and lets nobody in without
        TLS. The authority's certificate; the cluster must be stopped."""
        folder = self.folder / "tls"
        folder.mkdir()
        written(folder / "names", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for command in (
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=armwise-test -keyout ca.key -out ca.pem",
            "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr",
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
        ):
            subprocess.run(["openssl", *command.split()], check=True, capture_output=True, cwd=folder)
        for file in folder.iterdir():
            written(file, file.read_text())
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self.settings |= {"ssl": "on", "ssl_cert_file": f"{folder}/server.pem", "ssl_key_file": f"{folder}/server.key"}
        written(self.data / "pg_hba.conf", "hostssl all all 127.0.0.1/32 scram-sha-256\n")
        return folder / "ca.pem"


class PgBouncer:
    """A pooler in transaction mode before a cluster: each transaction may run on another connection."""

    def __init__(self, postgres: Postgres, upstream: int | None = None, pool: int = 6) -> None:
        self.program = needed("pgbouncer")
        self.folder, self.port = own_folder("armwise-bouncer-"), free_port()
        self.postgres = postgres
        self.process: subprocess.Popen[bytes] | None = None
        users = written(self.folder / "users.txt", f'"{USER}" "{PASSWORD}"\n')
        self.ini = written(
            self.folder / "pgbouncer.ini",
            f"""[databases]
* = host=127.0.0.1 port={upstream or postgres.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
server_login_retry = 0.1
server_connect_timeout = 2
query_wait_timeout = 5
logfile = {self.folder / "log"}
""",
        )

    @property
    def url(self) -> str:
        return self.postgres.url_at(self.port)

    def start(self) -> PgBouncer:
        self.process = subprocess.Popen(
            [self.program, "-q", str(self.ini)], cwd=self.folder, stderr=subprocess.DEVNULL, **as_user()
        )
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            time.sleep(0.02)
        raise RuntimeError(f"PgBouncer did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> PgBouncer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def running() -> Iterator[Postgres]:
    """A cluster, or pytest's skip where none can be had; with CI set, a failure."""
    try:
        postgres = Postgres()
    except Missing as missing:
        if os.environ.get("CI"):
            raise
        import pytest

        pytest.skip(str(missing))
    with postgres:
        yield postgres


def main() -> int:
    if sys.argv[1:3] != ["run", "--"] or len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    command = sys.argv[3:]
    try:
        postgres = Postgres()
    except Missing as missing:
        if os.environ.get("CI"):
            print(f"{missing}; the tests on PostgreSQL may not be left out here", file=sys.stderr)
            return 1
        print(f"{missing}; the tests on PostgreSQL are skipped", file=sys.stderr)
        return subprocess.run(command).returncode
    with postgres:
        return subprocess.run(command, env={**os.environ, "ARMWISE_POSTGRES": postgres.url}).returncode


if __name__ == "__main__":
    sys.exit(main())
