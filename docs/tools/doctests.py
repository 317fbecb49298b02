"""Shows the examples in Python's docstrings as code: griffe leaves them as text, in which `>>>` is a quotation.

mkdocs.yml names this file as an extension of griffe, which reads the package.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", flags=re.M)


def fenced(text: str) -> str:
    """The text with every run of examples, up to an empty line, in a fence."""
    return _EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)


class Examples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
