"""The fenced blocks of a page, and what running them must give.

A page is a story told once, from its top to its end, in a folder of its own. What each block means:

- `python` is run; all such blocks of a page share their names. What they print is the `text` block that follows.
- `console` is a session: a line that begins with `$ ` is run by bash, the lines after it are what it prints.
- A block whose title is the name of a file becomes that file.
- A block whose title names another package is for reading; with `ARMWISE_PEERS=PYTHON` that interpreter runs it.
- Other languages (`sh`, `rust`, `sql`) are for reading, or are tested elsewhere.

In expected output, `...` stands for anything in its line, and a line of `...` alone for any lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PEERS = ("MABWiser", "bayesianbandits", "Open Bandit Pipeline", "Vowpal Wabbit", "Personalizer")

_FENCE = re.compile(r"^( *)(`{3,})([\w-]*)(.*)$")
_TITLE = re.compile(r'title="([^"]*)"')


@dataclass
class Block:
    """A fenced block: its language and title, its text, and the lines it takes in the page (without the fences)."""

    language: str
    title: str
    lines: list[str]
    first: int
    indent: int

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)

    @property
    def file_name(self) -> str | None:
        """The file that the block is, if its title is a name with an extension."""
        return self.title if re.fullmatch(r"[\w-]+\.[a-z]+", self.title) else None

    @property
    def is_peers(self) -> bool:
        return self.title in PEERS


def blocks(path: Path) -> list[Block]:
    """All fenced blocks of a page, in their order."""
    found: list[Block] = []
    open_block, fence = None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if open_block is None:
            if match := _FENCE.match(line):
                indent, fence, language, rest = match.groups()
                title = _TITLE.search(rest)
                open_block = Block(language, title.group(1) if title else "", [], number + 1, len(indent))
        elif line.strip() == fence:
            found.append(open_block)
            open_block = None
        else:
            open_block.lines.append(line[open_block.indent :] if line.strip() else "")
    if open_block is not None:
        raise ValueError(f"{path}:{open_block.first}: the block is not closed")
    return found


def session(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a `console` block, each with the lines that it must print."""
    steps: list[tuple[str, list[str]]] = []
    more = False
    for line in block.lines:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif more and line.startswith("> "):
            steps[-1] = (steps[-1][0] + "\n" + line[2:], [])
        elif steps:
            steps[-1][1].append(line)
        else:
            raise ValueError(f"a console block must begin with a command: {line!r}")
        more = steps[-1][0].endswith("\\") and not steps[-1][1]
    return steps


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Whether what was printed is what the page shows."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)) is not None


def refreshed(expected: list[str], printed: list[str]) -> list[str]:
    """What was printed, with the `...` of a line kept where that line still agrees."""
    kept = [line for line in expected if "..." in line and line.strip() != "..."]
    return [next((old for old in kept if agrees([old], [line])), line.rstrip()) for line in printed]
