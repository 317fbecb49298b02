"""The proxy does to a connection what it is told: otherwise the tests through it would prove nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from proxy import Proxy


@pytest.fixture
def through() -> Iterator[tuple[Proxy, socket.socket, list[bytes]]]:
    """A connection through a proxy to a server that notes every line and answers it."""
    heard: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=answer, args=(peer,), daemon=True).start()

    def answer(peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer:
            while data := peer.recv(1024):
                heard.append(data)
                peer.sendall(b"ok:" + data)

    threading.Thread(target=serve, daemon=True).start()
    with (
        Proxy(int(listener.getsockname()[1])) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), 5) as client,
    ):
        client.settimeout(0.3)
        client.sendall(b"hello")
        assert client.recv(100) == b"ok:hello"
        heard.clear()
        yield proxy, client, heard
    listener.close()


def test_a_cut_connection_is_dead_and_a_new_one_passes(through: tuple[Proxy, socket.socket, list[bytes]]) -> None:
    proxy, client, heard = through
    proxy.cut()
    with contextlib.suppress(OSError):
        client.sendall(b"one")
        assert client.recv(100) == b""
    assert heard == []
    with socket.create_connection(("127.0.0.1", proxy.port), 5) as again:
        again.sendall(b"two")
        assert again.recv(100) == b"ok:two"


def test_an_answer_that_is_held_back_leaves_the_request_carried_out(
    through: tuple[Proxy, socket.socket, list[bytes]],
) -> None:
    proxy, client, heard = through
    proxy.hold("down")
    client.sendall(b"commit")
    with pytest.raises(TimeoutError):
        client.recv(100)
    assert heard == [b"commit"]
    proxy.heal()
    assert client.recv(100) == b"ok:commit"


def test_a_request_that_is_held_back_arrives_late_or_after_a_cut_never(
    through: tuple[Proxy, socket.socket, list[bytes]],
) -> None:
    proxy, client, heard = through
    proxy.hold("up")
    client.sendall(b"late")
    with pytest.raises(TimeoutError):
        client.recv(100)
    assert heard == []
    proxy.heal()
    assert client.recv(100) == b"ok:late"
    proxy.hold("up")
    client.sendall(b"never")
    time.sleep(0.1)
    proxy.cut()
    proxy.heal()
    time.sleep(0.1)
    assert heard == [b"late"]


def test_a_bite_ends_an_answer_in_its_middle(through: tuple[Proxy, socket.socket, list[bytes]]) -> None:
    proxy, client, heard = through
    proxy.bite()
    client.sendall(b"abcdef")
    got = b""
    with contextlib.suppress(OSError):
        while data := client.recv(100):
            got += data
    assert heard == [b"abcdef"]
    assert got in (b"", b"ok:abcdef"[:4])


def test_a_refusing_proxy_answers_nobody(through: tuple[Proxy, socket.socket, list[bytes]]) -> None:
    proxy, _, heard = through
    proxy.refusing = True
    with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
        client.settimeout(1)
        with contextlib.suppress(OSError):
            client.sendall(b"x")
            assert client.recv(100) == b""
    assert heard == []


def test_a_delay_is_waited_for(through: tuple[Proxy, socket.socket, list[bytes]]) -> None:
    proxy, client, _ = through
    proxy.delay = 0.1
    client.settimeout(5)
    began = time.monotonic()
    client.sendall(b"slow")
    assert client.recv(100) == b"ok:slow"
    assert time.monotonic() - began >= 0.2
