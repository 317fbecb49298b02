"""A client of `armwise serve`, asynchronous; `_client.py` is made from this file and is the same with ordinary calls.

Everything that changes something carries a key, and a request that got no answer is sent again with the same key and
the same body: the service then gives the answer of the first one, so nothing is decided or counted twice. After a
change here run `python python/tests/test_client_twins.py`, which writes the other file anew.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._answers import RewardsAnswer, ServedDecision, httpx_module, problem_of, quoted, seq_of

if TYPE_CHECKING:
    import httpx

_AGAIN = (429, 502, 503, 504, 507)


class AsyncClient:
    """A running `armwise serve`, asked asynchronously.

    Requests that get no answer, or that the service asks to repeat, are sent again with the same key for up to
    ``patience`` seconds.

    Parameters
    ----------
    url:
        Where the service listens.
    token:
        What `armwise token add` printed; none for a service on this machine without tokens.
    timeout:
        How many seconds one try may take, beside what it is asked to wait.
    patience:
        For how many seconds a request is tried again.
    verify:
        Whether the certificate of an https address is checked, or a file with the certificates to trust.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        token: str | None = None,
        timeout: float = 10.0,
        patience: float = 30.0,
        verify: bool | str = True,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        options: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout, "verify": verify}
        self._http: httpx.AsyncClient = httpx_module().AsyncClient(**options)
        self._timeout, self._patience = timeout, patience

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def campaign(self, name: str) -> AsyncServedCampaign:
        """A campaign of the service; nothing is sent."""
        return AsyncServedCampaign(self, name)

    async def campaigns(self) -> list[dict[str, Any]]:
        """All campaigns that the token may read, with where they stand."""
        answer = await self._send("GET", "/v1/campaigns")
        campaigns: list[dict[str, Any]] = answer.json()["campaigns"]
        return campaigns

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        key: str | None = None,
        seq: int = 0,
        longer: float = 0.0,
        **query: Any,
    ) -> httpx.Response:
        """Sends until there is an answer or patience ends; a try may take ``longer`` than others."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        if seq:
            headers["Armwise-Seq"] = str(seq)
        # Made once, so that a repeated request has the same bytes.
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        end, wait = time.monotonic() + self._patience + longer, 0.02
        sent: dict[str, Any] = {"content": content, "headers": headers, "params": query or None}
        sent["timeout"] = self._timeout + longer
        transport_error = httpx_module().TransportError
        while True:
            problem: Exception
            try:
                answer = await self._http.request(method, path, **sent)
            except transport_error as error:
                problem, least = error, 0.0
            else:
                if answer.is_success:
                    return answer
                problem = problem_of(answer.status_code, answer.headers.get("content-type", ""), answer.content)
                if answer.status_code not in _AGAIN and not problem.in_flight:
                    raise problem
                least = float(answer.headers.get("retry-after", 0) or 0)
            wait = min(2 * wait, 2.0)
            pause = max(least, wait * random.uniform(0.5, 1.0))
            if time.monotonic() + pause > end:
                raise problem
            await asyncio.sleep(pause)


class AsyncServedCampaign:
    """A campaign of a running service. It remembers how new the newest answer was, and asks for no older one."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client, self.name, self.seq = client, name, 0
        self._base = f"/v1/campaigns/{quoted(name)}"

    async def _ask(self, method: str, path: str = "", **rest: Any) -> httpx.Response:
        answer = await self._client._send(method, self._base + path, seq=self.seq, **rest)
        self.seq = max(self.seq, seq_of(answer.headers))
        return answer

    async def _json(self, method: str, path: str = "", **rest: Any) -> dict[str, Any]:
        told: dict[str, Any] = (await self._ask(method, path, **rest)).json()
        return told

    async def begin(self, **rules: Any) -> dict[str, Any]:
        """Makes the campaign, or confirms that it is there with the same rules.

        The rules are those of campaign.toml, and one of ``dim`` (arms come with a list ``features`` of this length),
        ``rows`` (rows to fit the features on) or ``recipe``.
        """
        return await self._json("PUT", body=rules)

    async def status(self) -> dict[str, Any]:
        """Where the campaign stands."""
        return await self._json("GET")

    async def amend(self, **rules: Any) -> dict[str, Any]:
        """Other rules from the next decision on."""
        return await self._json("PATCH", body=rules, key=_new_key())

    async def put_arms(self, arms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """These arms, and no others, are the catalogue."""
        return await self._json("PUT", "/arms", body={"arms": [dict(arm) for arm in arms]}, key=_new_key())

    async def change_arms(self, arms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Adds arms to the catalogue, or changes those that it has."""
        return await self._json("PATCH", "/arms", body={"arms": [dict(arm) for arm in arms]}, key=_new_key())

    async def retire_arm(self, arm: str) -> dict[str, Any]:
        """Takes an arm out of the catalogue."""
        return await self._json("DELETE", f"/arms/{quoted(arm)}", key=_new_key())

    async def decide(
        self,
        arms: Sequence[Mapping[str, Any]] | None = None,
        *,
        k: int | None = None,
        context: Mapping[str, Any] | None = None,
        eligible: Sequence[str] | None = None,
        filter: Mapping[str, Any] | None = None,
        constraint: Mapping[str, Any] | None = None,
        hold: bool = False,
        key: str | None = None,
    ) -> ServedDecision:
        """Chooses from these arms, or from the catalogue.

        With a ``key`` of your own (the id of the page view, say), the same request gives the same decision, also
        after the client or the service was started again.
        """
        given = {
            "arms": None if arms is None else [dict(arm) for arm in arms],
            "k": k,
            "context": None if context is None else dict(context),
            "eligible": None if eligible is None else list(eligible),
            "filter": None if filter is None else dict(filter),
            "constraint": None if constraint is None else dict(constraint),
            "hold": True if hold else None,
        }
        body = {name: value for name, value in given.items() if value is not None}
        return ServedDecision.read(await self._json("POST", "/decisions", body=body, key=key or _new_key()))

    async def reward(
        self,
        decision: ServedDecision | str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
    ) -> RewardsAnswer:
        """Gives rewards for some arms of a decision: any subset, late, in any order; each counts once.

        A list of ``{"id": ..., "reward": ...}`` may say with ``examined`` how probable it was that the arm was looked
        at."""
        return await self._rewards("PUT", decision, "rewards", rewards, key)

    async def correct(
        self,
        decision: ServedDecision | str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
    ) -> RewardsAnswer:
        """Replaces rewards that were wrong, and ``examined`` with them."""
        return await self._rewards("POST", decision, "correct", rewards, key)

    async def _rewards(
        self,
        method: str,
        decision: ServedDecision | str,
        what: str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        key: str | None,
    ) -> RewardsAnswer:
        given: object = dict(rewards) if isinstance(rewards, Mapping) else [dict(line) for line in rewards]
        told = await self._json(
            method, f"/decisions/{quoted(_id(decision))}/{what}", body={"rewards": given}, key=key or _new_key()
        )
        return RewardsAnswer.read(told)

    async def undelivered(
        self, decision: ServedDecision | str, arms: Sequence[str], *, key: str | None = None
    ) -> RewardsAnswer:
        """Says which arms were not shown after all; nothing is learned of them."""
        told = await self._json(
            "POST", f"/decisions/{quoted(_id(decision))}/undelivered", body={"arms": list(arms)}, key=key or _new_key()
        )
        return RewardsAnswer.read(told)

    async def activate(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A held decision was shown now."""
        return await self._json("POST", f"/decisions/{quoted(_id(decision))}/activate", key=_new_key())

    async def revoke(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A decision was never shown; nothing is learned of it."""
        return await self._json("POST", f"/decisions/{quoted(_id(decision))}/revoke", key=_new_key())

    async def close(
        self, decision: ServedDecision | str | None = None, *, through: ServedDecision | str | None = None
    ) -> dict[str, Any]:
        """Ends the window of a decision, or of every open one up to ``through``: silence is now the default reward."""
        given = {"decision": decision, "through": through}
        body = {name: _id(one) for name, one in given.items() if one is not None}
        return await self._json("POST", "/rounds/close", body=body, key=_new_key())

    async def reward_many(self, rewards: Sequence[Mapping[str, Any]], *, key: str | None = None) -> dict[str, Any]:
        """Gives rewards of many decisions at once, each with ``decision``, ``id``, ``reward`` and, where it may not
        have been looked at, ``examined``."""
        body = {"rewards": [dict(line) for line in rewards]}
        return await self._json("POST", "/rewards", body=body, key=key or _new_key())

    async def decision(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A decision with what became of its arms."""
        return await self._json("GET", f"/decisions/{quoted(_id(decision))}")

    async def why(self, arm: str, decision: ServedDecision | str | None = None) -> dict[str, Any]:
        """Why an arm was chosen, in a decision or the last time."""
        return await self._json("GET", "/why", id=arm, **({} if decision is None else {"decision": _id(decision)}))

    async def report(self) -> dict[str, Any]:
        """The report's numbers."""
        return await self._json("GET", "/report")

    async def log(self, after: int = 0, *, wait: int = 0) -> dict[str, Any]:
        """The entries of the journal after one; with ``wait``, waits so many seconds for the first."""
        return await self._json("GET", "/log", longer=wait, after=after, wait=wait)

    async def model(self) -> str:
        """The learner as JSON, which :func:`armwise.load` reads."""
        return str((await self._ask("GET", "/model")).text)


def _new_key() -> str:
    return uuid.uuid4().hex


def _id(decision: ServedDecision | str) -> str:
    return decision if isinstance(decision, str) else decision.decision
