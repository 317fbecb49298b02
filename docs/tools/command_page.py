"""Writes the reference of the command from what `armwise --help` says, while the site is built.

The page reference/command.md has the words `<!-- the commands -->` where the text goes, so it cannot say anything that
the program does not. MkDocs calls `on_page_markdown`.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = "<!-- the commands -->"


def _help(*command: str) -> str:
    program = os.environ.get("ARMWISE_COMMAND", str(ROOT / "target/release/armwise"))
    return subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout


def commands(text: str) -> list[str]:
    """The names of the commands, from the help of the program itself."""
    listed = text.split("Commands:\n")[1].split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if re.match(r"  \S", line)]
    return [name for name in names if name != "help"]


def _cell(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False)).replace("|", "&#124;")


def _table(head: str, lines: list[str]) -> list[str]:
    """A list of arguments or options as a table: name and what it says."""
    edge = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    rows: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, lines):
        # An option without a short form is set in by the width of one.
        if re.match(rf" {{{edge}}}(?: {{4}}--|-|<|\[)", line):
            name, _, says = line.strip().partition("  ")
            rows.append((name, [says.strip()]))
        else:
            rows[-1][1].append(line.strip())
    body = [f"| `{name}` | {_cell(' '.join(says)).replace(' - ', '<br>- ')} |" for name, says in rows]
    return [f"| {head} | |", "|---|---|", *body, ""]


def section(name: str, text: str) -> str:
    """The help of one command as Markdown."""
    out = [f"## armwise {name}", ""]
    for part in re.split(r"\n(?=Usage:|Arguments:\n|Options:\n|Example:|The study;)", text):
        head, _, rest = part.partition("\n")
        if head in ("Arguments:", "Options:"):
            out += _table(head.rstrip(":"), rest.rstrip().splitlines())
        elif head.startswith(("Usage:", "Example:")):
            word, _, line = head.partition(": ")
            out += [f'```sh title="{word}"', line, "```", "", rest.strip(), ""]
        elif head.startswith("The study;"):
            out += [head, "", "```toml", *(line[2:] for line in rest.strip("\n").splitlines()), "```", ""]
        else:
            out += [_cell(part.strip()), ""]
    return "\n".join(out)


def page() -> str:
    sections = []
    for name in commands(_help()):
        text = _help(name)
        if "\nCommands:\n" in text:  # a command of commands, such as `token`
            sections.append(section(name, text.split("\nCommands:\n")[0]))
            sections += [section(f"{name} {own}", _help(name, own)) for own in commands(text)]
        else:
            sections.append(section(name, text))
    return "\n".join(sections)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(HERE, page()) if HERE in markdown else markdown
