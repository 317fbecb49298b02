"""A disk that forgets what was not synced: replays the record of the power-cut shim up to a moment.

The shim is `crates/armwise-cli/tests/powercut/shim.c`, whose head has the format. A file's bytes last once the file is
synced, a name once its folder is; everything else is gone, or a part of it survives where `spare` says so.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Event(NamedTuple):
    kind: str
    one: str
    two: str
    inode: int
    offset: int
    data: bytes
    end: int  # where its record ends in the log


def events(log: bytes) -> Iterator[Event]:
    at = 0
    while at + 41 <= len(log):
        kind = chr(log[at])
        one, two, inode, offset, length = struct.unpack_from("<5Q", log, at + 1)
        names = at + 41
        end = names + one + two + (length if kind == "W" else 0)
        if end > len(log):
            return
        first = log[names : names + one].decode()
        second = log[names + one : names + one + two].decode()
        yield Event(kind, first, second, inode, offset, log[names + one + two : end], end)
        at = end


@dataclass
class Disk:
    """What is on the disk for certain, and what would be if everything were synced.

    Syncs that the record has after `honest_until` do nothing: such a disk lies.
    """

    honest_until: int | None = None
    bytes_now: dict[int, bytearray] = field(default_factory=dict)
    bytes_kept: dict[int, bytes] = field(default_factory=dict)
    names_now: dict[str, int] = field(default_factory=dict)
    names_kept: dict[str, int] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        kind, path, inode = event.kind, event.one, event.inode
        lies = self.honest_until is not None and event.end > self.honest_until
        if kind in "CL":
            self.names_now[path] = inode
            self.bytes_now.setdefault(inode, bytearray())
        elif kind == "W":
            data = self.bytes_now.setdefault(inode, bytearray())
            if len(data) < event.offset:
                data.extend(bytes(event.offset - len(data)))
            data[event.offset : event.offset + len(event.data)] = event.data
        elif kind == "T":
            data = self.bytes_now.setdefault(inode, bytearray())
            del data[event.offset :]
            data.extend(bytes(event.offset - len(data)))
        elif kind == "R":
            if path in self.names_now:
                self.names_now[event.two] = self.names_now.pop(path)
        elif kind == "X":
            self.names_now.pop(path, None)
        elif kind in "SD" and lies:
            pass
        elif kind == "S":
            self.bytes_kept[inode] = bytes(self.bytes_now.get(inode, b""))
        elif kind == "D":
            below = path.rstrip("/") + "/"
            inside = [name for name in {*self.names_now, *self.names_kept} if name.startswith(below)]
            for name in inside:
                if "/" not in name[len(below) :]:
                    self.names_kept.pop(name, None)
                    if name in self.names_now:
                        self.names_kept[name] = self.names_now[name]
        elif kind == "U":
            raise AssertionError(f"the replay does not know {path} {event.two}")

    def leave(self, root: str, folder: Path, draw: random.Random | None) -> None:
        """Writes what a cut leaves; with `draw`, unsynced bytes of a file survive or not, file by file."""
        for name, inode in self.names_kept.items():
            if name.endswith("-shm"):
                continue
            data = self.bytes_kept.get(inode, b"")
            if draw is not None and draw.random() < 0.5:
                data = bytes(self.bytes_now.get(inode, b""))
            target = folder / Path(name).relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
