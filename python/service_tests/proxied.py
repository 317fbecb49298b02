"""nginx before replicas, with the file that the documentation shows: only addresses and certificates are put in."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

from postgres import needed
from server import free_port

SHOWN = Path(__file__).parents[2] / "examples" / "replicas" / "nginx.conf"


class Nginx:
    """Listens on a free loopback port without TLS and passes on to these ports."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.program, self.port, self.folder = needed("nginx"), free_port(), folder
        text = SHOWN.read_text()
        first, rest = re.findall(r"^ *server \d.*;$", text, re.MULTILINE)
        for line, port in ((first, ports[0]), (rest, ports[1])):
            text = text.replace(line, re.sub(r"[\d.]+:8080", f"127.0.0.1:{port}", line))
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self.port};")
        text = re.sub(r"^ *ssl_certificate.*;$", "", text, flags=re.MULTILINE)
        self.config = folder / "nginx.conf"
        # Workers of another user could not reach the folder.
        user = "user root;" if os.geteuid() == 0 else ""
        self.config.write_text(
            f"{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;\n"
            f"events {{ worker_connections 256; }}\nhttp {{ access_log off; client_body_temp_path {folder}/body;\n"
            f"proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;\n"
            f"scgi_temp_path {folder}/s;\n{text}\n}}\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Nginx:
        command = [self.program, "-p", str(self.folder), "-c", str(self.config), "-e", f"{self.folder}/nginx.log"]
        self.process = subprocess.Popen(command)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"nginx did not start: {(self.folder / 'nginx.log').read_text()[-2000:]}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
