"""Starts, kills and stops `armwise serve` on a free loopback port; nothing here knows what the service promises."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

COMMAND = os.environ.get("ARMWISE_COMMAND", "armwise")


def free_port() -> int:
    """A port that stays free while the server is down: outgoing connections get their own from 32768 on."""
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """A server process over one data folder; the port stays the same when it is started again."""

    def __init__(self, data: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.data, self.port = data, free_port()
        self.line = [COMMAND, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", str(data), *arguments]
        self.environment = {**os.environ, **(environment or {})}
        self.log = data.parent / f"{data.name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Server:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.line, stdout=log, stderr=log, env=self.environment)
        return self

    def wait_until_ready(self, seconds: float = 120) -> Server:
        assert self.process is not None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.tail()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/readyz")[0] == 200:
                    return self
            time.sleep(0.005)
        raise TimeoutError(f"the server is not ready: {self.tail()}")

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = 60,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def kill(self) -> None:
        """As `kill -9`."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self, seconds: float = 120) -> int:
        """As Ctrl-C, waiting for what was accepted; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(seconds)

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""


@contextlib.contextmanager
def serving(data: Path, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[Server]:
    """A server that is ready, and gone afterwards."""
    server = Server(data, *arguments, environment=environment)
    try:
        yield server.start().wait_until_ready()
    finally:
        server.kill()
