"""A TCP proxy that goes wrong on command: refuses, delays, cuts in the middle of a message, passes one direction only.

A direction that is held keeps its bytes, as a network that is cut off does: after `heal` they arrive late, after `cut`
never. `up` is towards the server, `down` back to the client. To hold `down` and then cut is what makes a client wonder
whether its commit was carried out.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)


class Pipe:
    """One connection through the proxy: two sockets, a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.ends = proxy, (client, server)
        proxy.pipes.add(self)
        for direction, source, target in (("up", client, server), ("down", server, client)):
            threading.Thread(target=self.pump, args=(direction, source, target), daemon=True).start()

    def pump(self, direction: str, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if not self.proxy.passes(direction, self):
                    return
                if self.proxy.take_bite(direction):
                    target.sendall(data[: len(data) // 2])
                    break
                target.sendall(data)
        except OSError:
            pass
        self.cut()

    def cut(self) -> None:
        """Resets both sides; what is on its way is gone."""
        self.proxy.pipes.discard(self)
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Listens on a free loopback port and passes everything on to another one."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.changed = threading.Condition()
        self.held: frozenset[str] = frozenset()
        self.delay = 0.0
        self.refusing = False
        self.bites = 0
        self.pipes: set[Pipe] = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.refusing:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self.target), 5)
                except OSError:
                    client.close()
                    continue
                for end in (client, server):
                    end.settimeout(None)
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Pipe(self, client, server)

    def passes(self, direction: str, pipe: Pipe) -> bool:
        """Waits as long as the direction is held; false if the connection was cut meanwhile."""
        if self.delay:
            time.sleep(self.delay)
        with self.changed:
            self.changed.wait_for(lambda: direction not in self.held or pipe not in self.pipes)
        return pipe in self.pipes

    def take_bite(self, direction: str) -> bool:
        with self.changed:
            if direction == "down" and self.bites:
                self.bites -= 1
                return True
            return False

    # What can go wrong.

    def hold(self, *directions: str) -> None:
        with self.changed:
            self.held = frozenset(directions)

    def cut(self) -> None:
        """Every connection there is, at once."""
        for pipe in list(self.pipes):
            pipe.cut()
        with self.changed:
            self.changed.notify_all()

    def bite(self, count: int = 1) -> None:
        """The next answers end after their first half, and so do their connections."""
        with self.changed:
            self.bites += count

    def heal(self) -> None:
        with self.changed:
            self.held, self.delay, self.refusing, self.bites = frozenset(), 0.0, False, 0
            self.changed.notify_all()

    def close(self) -> None:
        self.listener.close()
        self.heal()
        self.cut()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def trouble(proxy: Proxy, draw: random.Random, seconds: float) -> str:
    """One fault drawn at random, then health; which it was."""
    kind = draw.choice(["cut", "bite", "refuse", "delay", "hold both", "hold up", "hold down", "hold down, cut"])
    if kind == "cut":
        proxy.cut()
    elif kind == "bite":
        proxy.bite(draw.randint(1, 4))
    elif kind == "refuse":
        proxy.refusing = True
        proxy.cut()
    elif kind == "delay":
        proxy.delay = draw.uniform(0.01, 0.2)
    elif kind == "hold both":
        proxy.hold("up", "down")
    elif kind == "hold up":
        proxy.hold("up")
    else:
        proxy.hold("down")
    time.sleep(seconds)
    if kind.endswith(", cut"):
        proxy.cut()
    proxy.heal()
    return kind
