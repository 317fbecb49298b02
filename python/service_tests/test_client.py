"""The Python client: every operation of the OpenAPI document through it, and retries that change nothing twice."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from history import Journal
from load import ARMS, RULES
from server import Server, serving

import armwise as aw
from armwise import slates

SOME = [{"id": name, "features": x} for name, x in ARMS[:12]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("client") / "data") as server:
        yield server


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_a_shop_decides_and_learns(server: Server) -> None:
    with aw.Client(url(server)) as client:
        shop = client.campaign("shop")
        shop.begin(**RULES)
        shop.begin(**RULES)
        first = shop.decide(SOME, k=3, key="view-1")
        assert shop.decide(SOME, k=3, key="view-1") == first
        assert [arm.rank for arm in first.arms] == [1, 2, 3]
        answer = shop.reward(first, {first.ids[0]: 1.0})
        assert answer.outcomes == {first.ids[0]: "applied"}
        assert shop.reward(first, {first.ids[0]: 1.0}).outcomes == {first.ids[0]: "known"}
        assert shop.reward(first, {first.ids[0]: 2.0}).outcomes == {first.ids[0]: "conflict"}
        assert shop.reward(first, {"nobody": 2.0}).outcomes == {"nobody": "unknown"}
        file = server.data.parent / "model.json"
        file.write_text(shop.model())
        assert aw.load(file).choose([x for _, x in ARMS], k=3).ids is not None
        with pytest.raises(aw.ServiceError, match="view-1") as refused:
            shop.decide(SOME, k=2, key="view-1")
        assert refused.value.status == 422
        with pytest.raises(aw.ServiceError) as missing:
            client.campaign("nowhere").status()
        assert missing.value.status == 404


def test_a_reward_says_how_probable_it_was_that_its_place_was_looked_at(server: Server) -> None:
    with aw.Client(url(server)) as client:
        shop = client.campaign("places")
        shop.begin(**RULES)
        slate = shop.decide(SOME, k=3)
        lines = slates.positions(slate.ids, [0.0, 1.0, 0.0], [1.0, 0.6, 0.4])
        assert shop.reward(slate, lines).applied == 3
        assert shop.reward(slate, lines).outcomes == dict.fromkeys(slate.ids, "known")
        assert shop.reward(slate, {slate.ids[1]: 1.0}).outcomes == {slate.ids[1]: "conflict"}
        assert shop.reward(slate, [{"id": slate.ids[1], "reward": 1.0, "examined": 2}]).outcomes == {
            slate.ids[1]: "invalid"
        }
        shown = {arm["id"]: arm["examined"] for arm in shop.decision(slate)["arms"]}
        assert [shown[name] for name in slate.ids] == [None, 0.6, 0.4]


def test_draws_that_cancel_out_are_warned_of(server: Server) -> None:
    with aw.Client(url(server)) as client:
        shop = client.campaign("sets")
        shop.begin(**{**RULES, "algorithm": {"name": "arm-wise-ts"}})
        ids = [arm["id"] for arm in SOME]
        sets = {"kind": "explicit", "super_arms": [ids[:2], ids[2:4]]}
        first = shop.decide(SOME, constraint=sets, key="sets")
        assert first.warnings == ("no-substitutes",)
        assert shop.decide(SOME, constraint=sets, key="sets") == first
        assert shop.decide(SOME, k=2).warnings == ()


def test_an_id_in_two_promotions_has_two_outcomes(server: Server) -> None:
    with aw.Client(url(server)) as client:
        shop = client.campaign("two")
        promotions = [{"name": "mail", "quota": 2}, {"name": "call", "quota": 2}]
        shop.begin(**RULES, promotion=promotions, limits={"per_customer": 2})
        decided = shop.decide(SOME[:2])
        assert sorted((arm.id, arm.promotion) for arm in decided.arms) == sorted(
            (arm["id"], name) for arm in SOME[:2] for name in ("mail", "call")
        )
        one = SOME[0]["id"]
        given = [{"id": one, "promotion": name, "reward": 1.0} for name in ("mail", "call", "fax")]
        answer = shop.reward(decided, given)
        assert answer.applied == 2
        assert answer.outcomes == {(one, "mail"): "applied", (one, "call"): "applied", (one, "fax"): "unknown"}
        assert [arm.promotion for arm in answer.arms] == ["mail", "call", "fax"]


def test_a_poll_may_wait_longer_than_an_answer_may_take(server: Server) -> None:
    with aw.Client(url(server)) as client:
        last = client.campaign("patient").begin(**RULES)["seq"]
    with aw.Client(url(server), timeout=1.0, patience=0.0) as client:
        assert client.campaign("patient").log(last, wait=2) == {"seq": last, "entries": []}


def test_the_asynchronous_client_is_the_same(server: Server) -> None:
    async def play() -> None:
        async with aw.AsyncClient(url(server)) as client:
            shop = client.campaign("later")
            await shop.begin(**RULES)
            decided = await asyncio.gather(*(shop.decide(SOME, k=2, key=f"view-{i % 5}") for i in range(20)))
            assert len({decision.decision for decision in decided}) == 5
            for decision in decided[:5]:
                assert (await shop.reward(decision, dict.fromkeys(decision.ids, 0.5))).applied == 2

    asyncio.run(play())


def test_every_operation_of_the_document_is_there(server: Server) -> None:
    """Generated from the document: each operation is called once, and its answer has the document's shape."""
    seen: list[tuple[str, str, int, Any]] = []
    with aw.Client(url(server)) as client:
        client._http.event_hooks["response"].append(
            lambda answer: (
                answer.read(),
                seen.append((answer.request.method, answer.request.url.path, answer.status_code, answer)),
            )[0]
        )
        shop = client.campaign("all")
        calls: dict[str, Callable[[], object]] = {
            "makeCampaign": lambda: shop.begin(**RULES),
            "listCampaigns": client.campaigns,
            "campaign": shop.status,
            "amendCampaign": lambda: shop.amend(reward={"min": -1.0}),
            "putArms": lambda: shop.put_arms(SOME[:6]),
            "changeArms": lambda: shop.change_arms(SOME[6:]),
            "retireArm": lambda: shop.retire_arm(SOME[0]["id"]),
            "decide": lambda: shop.decide(k=3),
            "decision": lambda: shop.decision(shop.decide(k=3)),
            "reward": lambda: shop.reward(decided := shop.decide(k=3), {decided.ids[0]: 1.0}),
            "rewardMany": lambda: shop.reward_many(
                [{"decision": (decided := shop.decide(k=3)).decision, "id": decided.ids[0], "reward": 1.0}]
            ),
            "correct": lambda: (
                shop.reward(decided := shop.decide(k=3), {decided.ids[0]: 1.0}),
                shop.correct(decided, {decided.ids[0]: 0.0}),
            ),
            "undelivered": lambda: shop.undelivered(decided := shop.decide(k=3), decided.ids[:1]),
            "activate": lambda: shop.activate(shop.decide(k=3, hold=True)),
            "revoke": lambda: shop.revoke(shop.decide(k=3, hold=True)),
            "close": lambda: (shop.close(shop.decide(k=3)), shop.close(through=shop.decide(k=3))),
            "why": lambda: shop.why((decided := shop.decide(k=3)).ids[0], decided),
            "report": shop.report,
            "log": lambda: shop.log(0),
            "model": shop.model,
        }
        document = client._send("GET", "/openapi.json").json()
        operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if path.startswith("/v1/campaigns")
        }
        assert set(operations) == set(calls)
        for name, call in calls.items():
            seen.clear()
            call()
            method, path, operation = operations[name]
            own = [one for one in seen if one[0].lower() == method and matches(path, one[1])]
            assert own, name
            _, _, status, answer = own[-1]
            described = operation["responses"][str(status)].get("content", {})
            assert not described or "application/json" in described, name
            if described:
                schema = {**described["application/json"]["schema"], "components": document["components"]}
                jsonschema.validate(answer.json(), schema)


def matches(template: str, path: str) -> bool:
    parts, given = template.split("/"), path.split("/")
    return len(parts) == len(given) and all(a == b or a.startswith("{") for a, b in zip(parts, given, strict=True))


class Dropping:
    """A way to the server that loses the answer to the first request of every connection after it was carried out."""

    def __init__(self, port: int) -> None:
        self.target, self.lost = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self.target)) as far:
            far.sendall(near.recv(1 << 20))
            answer = far.recv(1 << 20)
            if self.lost < 3:
                self.lost += 1
                return
            near.sendall(answer)


def test_a_lost_answer_is_asked_for_again_with_the_same_key(server: Server, tmp_path: Path) -> None:
    with aw.Client(url(server)) as plain:
        plain.campaign("lossy").begin(**RULES)
    way = Dropping(server.port)
    with aw.Client(f"http://127.0.0.1:{way.port}") as client:
        decision = client.campaign("lossy").decide(SOME, k=3)
    assert way.lost == 3
    way.listener.close()
    entries = Journal(server.data / "lossy.armwise").entries
    chosen = [entry["round"] for entry in entries if entry["kind"] == "choose"]
    assert len(chosen) == 1
    assert decision.decision.startswith(f"r{chosen[0]}-")
