"""A client of `armwise serve` with ordinary calls, made from `_async_client.py` by `test_client_twins.py`.

Everything that changes something carries a key, and a request that got no answer is sent again with the same key and
the same body: the service then gives the answer of the first one, so nothing is decided or counted twice.
"""

from __future__ import annotations

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


class Client:
    """A running `armwise serve`.

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
        self._http: httpx.Client = httpx_module().Client(**options)
        self._timeout, self._patience = timeout, patience

    def close(self) -> None:
        """Ends the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def campaign(self, name: str) -> ServedCampaign:
        """A campaign of the service; nothing is sent."""
        return ServedCampaign(self, name)

    def campaigns(self) -> list[dict[str, Any]]:
        """All campaigns that the token may read, with where they stand."""
        answer = self._send("GET", "/v1/campaigns")
        campaigns: list[dict[str, Any]] = answer.json()["campaigns"]
        return campaigns

    def _send(
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
                answer = self._http.request(method, path, **sent)
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
            time.sleep(pause)


class ServedCampaign:
    """A campaign of a running service. It remembers how new the newest answer was, and asks for no older one."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name, self.seq = client, name, 0
        self._base = f"/v1/campaigns/{quoted(name)}"

    def _ask(self, method: str, path: str = "", **rest: Any) -> httpx.Response:
        answer = self._client._send(method, self._base + path, seq=self.seq, **rest)
        self.seq = max(self.seq, seq_of(answer.headers))
        return answer

    def _json(self, method: str, path: str = "", **rest: Any) -> dict[str, Any]:
        told: dict[str, Any] = self._ask(method, path, **rest).json()
        return told

    def begin(self, **rules: Any) -> dict[str, Any]:
        """Makes the campaign, or confirms that it is there with the same rules.

        The rules are those of campaign.toml, and one of ``dim`` (arms come with a list ``features`` of this length),
        ``rows`` (rows to fit the features on) or ``recipe``.
        """
        return self._json("PUT", body=rules)

    def status(self) -> dict[str, Any]:
        """Where the campaign stands."""
        return self._json("GET")

    def amend(self, **rules: Any) -> dict[str, Any]:
        """Other rules from the next decision on."""
        return self._json("PATCH", body=rules, key=_new_key())

    def put_arms(self, arms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """These arms, and no others, are the catalogue."""
        return self._json("PUT", "/arms", body={"arms": [dict(arm) for arm in arms]}, key=_new_key())

    def change_arms(self, arms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Adds arms to the catalogue, or changes those that it has."""
        return self._json("PATCH", "/arms", body={"arms": [dict(arm) for arm in arms]}, key=_new_key())

    def retire_arm(self, arm: str) -> dict[str, Any]:
        """Takes an arm out of the catalogue."""
        return self._json("DELETE", f"/arms/{quoted(arm)}", key=_new_key())

    def decide(
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
        return ServedDecision.read(self._json("POST", "/decisions", body=body, key=key or _new_key()))

    def reward(
        self,
        decision: ServedDecision | str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
    ) -> RewardsAnswer:
        """Gives rewards for some arms of a decision: any subset, late, in any order; each counts once.

        A list of ``{"id": ..., "reward": ...}`` may say with ``examined`` how probable it was that the arm was looked
        at."""
        return self._rewards("PUT", decision, "rewards", rewards, key)

    def correct(
        self,
        decision: ServedDecision | str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
    ) -> RewardsAnswer:
        """Replaces rewards that were wrong, and ``examined`` with them."""
        return self._rewards("POST", decision, "correct", rewards, key)

    def _rewards(
        self,
        method: str,
        decision: ServedDecision | str,
        what: str,
        rewards: Mapping[str, float] | Sequence[Mapping[str, Any]],
        key: str | None,
    ) -> RewardsAnswer:
        given: object = dict(rewards) if isinstance(rewards, Mapping) else [dict(line) for line in rewards]
        told = self._json(
            method, f"/decisions/{quoted(_id(decision))}/{what}", body={"rewards": given}, key=key or _new_key()
        )
        return RewardsAnswer.read(told)

    def undelivered(
        self, decision: ServedDecision | str, arms: Sequence[str], *, key: str | None = None
    ) -> RewardsAnswer:
        """Says which arms were not shown after all; nothing is learned of them."""
        told = self._json(
            "POST", f"/decisions/{quoted(_id(decision))}/undelivered", body={"arms": list(arms)}, key=key or _new_key()
        )
        return RewardsAnswer.read(told)

    def activate(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A held decision was shown now."""
        return self._json("POST", f"/decisions/{quoted(_id(decision))}/activate", key=_new_key())

    def revoke(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A decision was never shown; nothing is learned of it."""
        return self._json("POST", f"/decisions/{quoted(_id(decision))}/revoke", key=_new_key())

    def close(
        self, decision: ServedDecision | str | None = None, *, through: ServedDecision | str | None = None
    ) -> dict[str, Any]:
        """Ends the window of a decision, or of every open one up to ``through``: silence is now the default reward."""
        given = {"decision": decision, "through": through}
        body = {name: _id(one) for name, one in given.items() if one is not None}
        return self._json("POST", "/rounds/close", body=body, key=_new_key())

    def reward_many(self, rewards: Sequence[Mapping[str, Any]], *, key: str | None = None) -> dict[str, Any]:
        """Gives rewards of many decisions at once, each with ``decision``, ``id``, ``reward`` and, where it may not
        have been looked at, ``examined``."""
        body = {"rewards": [dict(line) for line in rewards]}
        return self._json("POST", "/rewards", body=body, key=key or _new_key())

    def decision(self, decision: ServedDecision | str) -> dict[str, Any]:
        """A decision with what became of its arms."""
        return self._json("GET", f"/decisions/{quoted(_id(decision))}")

    def why(self, arm: str, decision: ServedDecision | str | None = None) -> dict[str, Any]:
        """Why an arm was chosen, in a decision or the last time."""
        return self._json("GET", "/why", id=arm, **({} if decision is None else {"decision": _id(decision)}))

    def report(self) -> dict[str, Any]:
        """The report's numbers."""
        return self._json("GET", "/report")

    def log(self, after: int = 0, *, wait: int = 0) -> dict[str, Any]:
        """The entries of the journal after one; with ``wait``, waits so many seconds for the first."""
        return self._json("GET", "/log", longer=wait, after=after, wait=wait)

    def model(self) -> str:
        """The learner as JSON, which :func:`armwise.load` reads."""
        return str(self._ask("GET", "/model").text)


def _new_key() -> str:
    return uuid.uuid4().hex


def _id(decision: ServedDecision | str) -> str:
    return decision if isinstance(decision, str) else decision.decision
