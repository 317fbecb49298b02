"""The client with ordinary calls is made from the asynchronous one; run this file to make it anew."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "armwise"
SOURCE, TWIN = PACKAGE / "_async_client.py", PACKAGE / "_client.py"

HEAD = '''"""A client of `armwise serve` with ordinary calls, made from `_async_client.py` by `test_client_twins.py`.

Everything that changes something carries a key, and a request that got no answer is sent again with the same key and
the same body: the service then gives the answer of the first one, so nothing is decided or counted twice.
"""
'''

WORDS = [
    ("async def ", "def "),
    ("await ", ""),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    (".aclose()", ".close()"),
    ("asyncio.sleep", "time.sleep"),
    ("import asyncio\n", ""),
    ("AsyncServedCampaign", "ServedCampaign"),
    ("AsyncClient", "Client"),
    (", asked asynchronously.", "."),
]


def twin(source: str) -> str:
    """The source with ordinary calls."""
    text = re.sub(r'\A""".*?"""\n', lambda _: HEAD, source, flags=re.DOTALL)
    for old, new in WORDS:
        text = text.replace(old, new)
    return re.sub(r"\((self\._ask\([^()]*\))\)", r"\1", text)


def test_the_twin_is_made_from_the_asynchronous_client() -> None:
    assert TWIN.read_text() == twin(SOURCE.read_text()), "run python/tests/test_client_twins.py"


if __name__ == "__main__":
    TWIN.write_text(twin(SOURCE.read_text()))
