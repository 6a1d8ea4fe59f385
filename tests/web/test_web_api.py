"""The JSON API: the same dictionaries as --json, limits, clear refusals, and no way in for other
sites.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from serving import LASTING, LASTING_SET, TEXT, lasting_model, serving
from starlette.applications import Starlette

import suffice as sf
from suffice.cli import main
from suffice.sets import table
from suffice.web import fields, guard, openapi
from suffice.web.app import Routes, make_app
from suffice.web.asking import Posed

BOX = {"kind": "knn-box", "k": 120}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return lasting_model(tmp_path_factory.mktemp("models") / "lasting")


@pytest.fixture(scope="module")
def address(folder) -> Iterator[str]:
    with serving("--model", "sst-fc25", "--model", str(folder), "--workers", "2") as found:
        yield found


@pytest.fixture
def client(address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as found:
        yield found


def ask(client: httpx.Client, verb: str = "explain", **question: Any) -> httpx.Response:
    return client.post(f"/api/{verb}", json={"text": TEXT, "perturbation": BOX, **question})


def lasting(**question: Any) -> dict[str, Any]:
    return {
        "text": LASTING,
        "model": "lasting",
        "perturbation": LASTING_SET,
        "seconds": 60,
        **question,
    }


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def stream(client: httpx.Client, question: dict[str, Any], verb: str = "explain") -> Any:
    return client.stream(
        "POST", f"/api/{verb}", json=question, headers={"accept": "text/event-stream"}
    )


# --- answers ---


def test_an_answer_is_the_dictionary_that_the_library_gives(client):
    answer = ask(client, seconds=60).json()
    own = sf.explain(sf.load("sst-fc25"), TEXT, perturbation=sf.KNNBox(120)).to_dict()
    for part in (answer, own):
        part["stats"] = part["meta"].pop("seconds") and None
    assert answer == json.loads(json.dumps(own))


def test_constraints_change_the_answer(client):
    free = ask(client).json()
    first = free["positions"][0]
    assert first not in ask(client, exclude=[first]).json()["positions"]
    assert {0, 5} <= set(ask(client, include=["A", 5]).json()["positions"])


@pytest.mark.parametrize(
    ("verb", "question"),
    [
        ("contrast", {}),
        ("bias", {"protected": ["film"]}),
        ("profile", {"steps": [20, 120]}),
        ("profile", {"perturbation": {"kind": "deletion"}, "steps": [1, 2]}),
    ],
)
def test_the_other_verbs_answer_too(client, verb, question):
    answer = client.post(f"/api/{verb}", json={"text": TEXT, "perturbation": BOX, **question})
    assert answer.status_code == 200
    assert answer.json()["format"] == 1
    report = client.get(f"/api/answers/{answer.headers['x-suffice-answer']}/report.html")
    assert report.status_code == 200
    assert "What is guaranteed" in report.text


def test_a_stream_names_the_next_question_where_no_word_is_needed(client):
    with stream(
        client,
        {"text": "boring dull tedious awful", "perturbation": {"kind": "deletion", "at_most": 1}},
    ) as told:
        found = dict(events(told))
    assert found["answer"]["result"]["positions"] == []
    assert found["next"]["sentence"].startswith("A quick look: if ")
    assert found["next"]["command"].startswith(
        "suffice explain 'boring dull tedious awful' --model MODEL --deletion"
    )


def test_a_stream_tells_the_text_the_bounds_and_the_answer(client):
    with stream(client, {"text": TEXT, "perturbation": BOX}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        told = list(events(response))
    kinds = [kind for kind, _ in told]
    assert kinds[:2] == ["job", "text"]
    assert [kind for kind in kinds if kind not in ("progress", "phase", "equal")][2:] == [
        "answer",
        "words",
        "report",
        "done",
    ]
    bounds = [(data["lower"], data["upper"]) for kind, data in told if kind == "progress"]
    assert bounds
    assert all(lower <= upper for lower, upper in bounds)
    assert [upper for _, upper in bounds] == sorted((upper for _, upper in bounds), reverse=True)
    assert [lower for lower, _ in bounds] == sorted(lower for lower, _ in bounds)
    answer = dict(told)["answer"]
    assert answer["result"]["status"] == "optimal"
    assert {word["position"] for word in dict(told)["words"]["words"]} == set(range(12))


def test_answers_can_be_downloaded(client, tmp_path):
    key = ask(client).headers["x-suffice-answer"]
    for name, kind in [
        ("answer.json", "application/json"),
        ("report.html", "text/html; charset=utf-8"),
    ]:
        got = client.get(f"/api/answers/{key}/{name}")
        assert got.headers["content-type"] == kind
        assert got.headers["content-disposition"].startswith("attachment")
    assert "2 of 12 words are enough" in client.get(f"/api/answers/{key}/report.html").text
    (tmp_path / "answer.cert").write_bytes(client.get(f"/api/answers/{key}/answer.cert").content)
    assert sf.check(tmp_path / "answer.cert", sf.load("sst-fc25"))


# --- stopping ---


def test_a_stopped_search_gives_the_best_it_has(client):
    with stream(client, lasting()) as response:
        told = events(response)
        job = next(data["id"] for kind, data in told if kind == "job")
        next(data for kind, data in told if kind == "progress" and data["upper"] < 40)
        assert client.post(f"/api/jobs/{job}/stop").status_code == 202
        answer = dict(told)["answer"]
    assert answer["result"]["status"] == "sufficient"
    assert answer["result"]["lower_bound"] <= answer["result"]["cost"] < 40
    assert answer["result"]["meta"]["checked"]
    assert client.post(f"/api/jobs/{job}/stop").status_code == 404


def test_the_answer_comes_before_the_details_and_stopping_these_keeps_it(client):
    with stream(client, {"text": TEXT, "perturbation": BOX}) as response:
        told = events(response)
        job = next(data["id"] for kind, data in told if kind == "job")
        answer = next(data for kind, data in told if kind == "answer")
        client.post(f"/api/jobs/{job}/stop")
        rest = [kind for kind, _ in told]
    assert rest[-2:] == ["report", "done"]
    report = client.get(f"/api/answers/{answer['id']}/report.html")
    assert "2 of 12 words are enough" in report.text


def test_a_search_stopped_twice_ends_without_an_answer_or_with_one_that_was_checked(client):
    with stream(client, lasting()) as response:
        told = events(response)
        job = next(data["id"] for kind, data in told if kind == "job")
        next(data for kind, data in told if kind == "progress" and data["upper"] < 40)
        for _ in range(2):
            client.post(f"/api/jobs/{job}/stop")
        ends = {kind: data for kind, data in told if kind in ("answer", "refused", "failed")}
    assert ends.keys() <= {"answer", "refused"}
    assert "answer" not in ends or ends["answer"]["result"]["meta"]["checked"]


def test_who_waits_does_not_wait_for_the_details_of_others(folder):
    """With one worker, ten streams are asked for at once: each gets its answer, and each gets a
    report.
    """
    with (
        serving("--model", "sst-fc25", "--workers", "1") as address,
        ThreadPoolExecutor(10) as threads,
    ):

        def one(_: int) -> list[str]:
            with (
                httpx.Client(base_url=address, timeout=120, trust_env=False) as client,
                stream(client, {"text": TEXT, "perturbation": BOX}) as response,
            ):
                return [kind for kind, _ in events(response)]

        for kinds in threads.map(one, range(10)):
            assert "answer" in kinds
            assert kinds[-2:] == ["report", "done"]


def test_a_client_that_leaves_frees_its_worker(client):
    """More clients leave, one after another, than there are workers; the next still
    gets an answer.
    """
    for _ in range(4):
        with stream(client, lasting()) as response:
            next(data for kind, data in events(response) if kind == "progress")
    assert ask(client).json()["status"] == "optimal"


def test_a_client_that_leaves_without_a_stream_frees_its_worker_too(address):
    for _ in range(4):
        with (
            httpx.Client(base_url=address, timeout=0.5, trust_env=False) as client,
            pytest.raises(httpx.ReadTimeout),
        ):
            client.post("/api/explain", json=lasting())
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        assert ask(client).json()["status"] == "optimal"


def test_a_worker_that_dies_is_replaced(folder):
    models = ("--model", "sst-fc25", "--model", str(folder))
    with (
        serving(*models, "--workers", "1") as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        with stream(client, lasting()) as response:
            told = events(response)
            next(data for kind, data in told if kind == "progress")
            kill_workers()
            kind, data = list(told)[-1]
        assert (kind, data["message"]) == ("failed", "the worker died; try again")
        assert ask(client).json()["status"] == "optimal"


def test_workers_that_die_while_they_are_idle_cost_nobody_a_question(folder):
    with (
        serving("--model", "sst-fc25", "--workers", "1") as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        for _ in range(3):
            assert ask(client).json()["status"] == "optimal"
            with stream(client, {"text": TEXT, "perturbation": BOX}) as response:
                list(events(response))  # to the very end, so that its worker is idle
            kill_workers()
        with stream(client, {"text": TEXT, "perturbation": BOX}) as response:
            assert [kind for kind, _ in events(response)][-1] == "done"


def kill_workers() -> None:
    """The workers are the grandchildren of this process that run the multiprocessing's spawn."""
    mine = os.getpid()
    parents = {pid: parent for pid, parent, _ in processes()}
    for pid, parent, command in processes():
        if (
            "spawn_main" in command
            and parents.get(parent) == mine
            and "--workers\0001" in commands(parent)
        ):
            os.kill(pid, signal.SIGKILL)


def processes() -> list[tuple[int, int, str]]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found.append((int(entry.name), parent, commands(int(entry.name))))
            except (OSError, ValueError):
                continue
    return found


def commands(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


MINE = """
import numpy as np

def predict(texts):
    good = np.array([text.split().count("good") - 0.5 for text in texts])
    return np.stack([-good, good], 1)

predict.labels = ["negative", "positive"]
"""


def test_a_classifier_that_can_only_be_run_is_served_too(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with (
        serving("--model", "python:mine:predict", "--workers", "1") as address,
        httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
    ):
        with stream(
            client, {"text": "a good film", "perturbation": {"kind": "deletion"}}
        ) as response:
            told = dict(events(response))
        assert told["answer"]["result"]["positions"] == [1]
        assert "done" in told
        for verb, more in (("contrast", {}), ("bias", {"protected": ["film"]})):
            asked = {"text": "a good film", "perturbation": {"kind": "deletion"}, **more}
            assert client.post(f"/api/{verb}", json=asked).status_code == 200


# --- limits and refusals ---

WRONG = {
    "no text": ({"text": ""}, "text"),
    "blank text": ({"text": " \n "}, "text"),
    "a number for a text": ({"text": 5}, "text"),
    "a long text": ({"text": "word " * 2000}, "text"),
    "half a character": ({"text": "\ud83d"}, "text"),
    "half a character in a word": ({"include": ["\ud83d"]}, "include"),
    "half a character in a cost": ({"cost": {"\udc00": 1}}, "cost"),
    "half a character in a set": (
        {"perturbation": {"kind": "word-swap", "swaps": {"a": ["\ud83d"]}}},
        "perturbation",
    ),
    "half a character in a model": ({"model": "\ud83d"}, "model"),
    "time beyond all bounds": ({"seconds": 10**400}, "seconds"),
    "a seed beyond all bounds": ({"seed": 10**400}, "seed"),
    "a position beyond all bounds": ({"include": [10**400]}, "include"),
    "a cost beyond all bounds": ({"cost": {"film": 10**400}}, "cost"),
    "a cost that is not finite": ({"cost": {"film": float("inf")}}, "body"),
    "costs whose sum is no number": ({"cost": {"film": 1e308, "nerve": 1e308}}, "cost"),
    "a size beyond all bounds": (
        {"perturbation": {"kind": "knn-box", "k": 10**400}},
        "perturbation",
    ),
    "a radius beyond all bounds": (
        {"perturbation": {"kind": "epsilon-ball", "eps": 10**400}},
        "perturbation",
    ),
    "a limit beyond all bounds": (
        {"perturbation": {"kind": "deletion", "at_most": 10**400}},
        "perturbation",
    ),
    "a truth as size": ({"perturbation": {"kind": "knn-box", "k": True}}, "perturbation"),
    "no changes at once": ({"perturbation": {"kind": "deletion", "at_most": 0}}, "perturbation"),
    "an unknown key in a set": ({"perturbation": {"kind": "deletion", "k": 3}}, "perturbation"),
    "a set without its size": ({"perturbation": {"kind": "knn-box"}}, "perturbation"),
    "a norm that is none": (
        {"perturbation": {"kind": "epsilon-ball", "eps": 1, "p": 3}},
        "perturbation",
    ),
    "an unknown model": ({"model": "../../etc"}, "model"),
    "a path as model": ({"model": "/etc/passwd"}, "model"),
    "no set": ({"perturbation": "knn"}, "perturbation"),
    "an endless search": ({"seconds": 1e9}, "seconds"),
    "no time": ({"seconds": 0}, "seconds"),
    "time as text": ({"seconds": "5"}, "seconds"),
    "a truth as seed": ({"seed": True}, "seed"),
    "a word for a list": ({"include": "film"}, "include"),
    "a negative cost": ({"cost": {"film": -1}}, "cost"),
    "an unknown method": ({"method": "magic"}, "method"),
    "an unknown field": ({"textt": "x"}, "textt"),
}


@pytest.mark.parametrize(("question", "field"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_field_is_named(client, question, field):
    answer = client.post(
        "/api/explain",
        content=json.dumps({"text": TEXT, **question}).encode(),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == (400 if field == "body" else 422)
    assert answer.json()["error"]["field"] == field
    assert field in answer.json()["error"]["message"]


@pytest.mark.parametrize("size", ["1e308", "-1e308", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize(("kind", "name"), [("epsilon-ball", "eps"), ("knn-box", "k")])
def test_a_number_that_is_too_large_is_not_said_to_be_none(client, size, kind, name):
    asked = f'{{"text": "good", "perturbation": {{"kind": "{kind}", "{name}": {size}}}}}'
    answer = client.post(
        "/api/explain", content=asked, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert "too large a number" in answer.json()["error"]["message"]


def test_a_field_that_is_given_twice_is_refused(client):
    body = b'{"text": "a good film", "text": "a bad film"}'
    answer = client.post("/api/explain", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "body")
    assert "twice" in answer.json()["error"]["message"]


def test_a_field_that_is_named_by_half_a_character_is_refused(client):
    body = json.dumps({"text": TEXT, "\ud83d": 1}).encode()
    answer = client.post("/api/explain", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "body")


UNFIT = [
    {"include": ["nowhere"]},
    {"include": [99]},
    {"include": [1], "exclude": [1]},
    {"perturbation": {"kind": "knn-box", "k": -1}},
    {"perturbation": {"kind": "knn-box", "k": 10**9}},
    {"perturbation": {"kind": "epsilon-ball", "eps": "x", "p": 2}},
    {"perturbation": {"kind": "sorcery"}},
    {"perturbation": {"kind": "word-swap", "swaps": {"film": "x"}}},
    {"perturbation": {"kind": "boxes", "lower": [1], "upper": [2]}},
]


@pytest.mark.parametrize("question", UNFIT, ids=str)
def test_what_does_not_fit_the_text_is_refused_in_words(client, question):
    answer = ask(client, **question)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] in ("refused", "invalid")
    assert len(answer.json()["error"]["message"]) > 20


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'"x"', b"NaN", b'{"text": NaN}', b"\xff", b"[" * 100_000]
)
def test_what_is_not_json_is_refused(client, body):
    answer = client.post("/api/explain", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "body"


def test_a_large_body_is_refused_before_it_is_read(client):
    headers = {"content-type": "application/json"}
    assert client.post("/api/explain", content=b" " * 300_000, headers=headers).status_code == 413
    parts = (b" " * 50_000 for _ in range(6))  # no content-length: counted as it comes
    assert client.post("/api/explain", content=parts, headers=headers).status_code == 413


POST = (
    b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: "
    b"99\r\n\r\n{"
)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /api HTTP/1.1\r\nHost: loc",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api HTTP/1.1\r\nHo",
        POST % b"application/json",
        POST % b"text/plain",
    ],
    ids=[
        "nothing",
        "half a head",
        "one and a half",
        "half a body",
        "half a body of what is refused",
    ],
)
def test_a_request_that_does_not_arrive_is_closed(hasty, sent):
    with socket.create_connection(("127.0.0.1", hasty), timeout=30) as line:
        line.sendall(sent)
        while line.recv(65536):  # until the server closes
            pass


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    """The port of a server with little patience, in this process."""
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setattr(guard, "PATIENCE", 0.3)
        app = Starlette(
            routes=Routes({"sst-fc25": "sst-fc25"}, {"explain": {}}, fields.Limits()).routes()
        )
        config = uvicorn.Config(
            app, http=guard.Patient, log_level="error", lifespan="off", timeout_keep_alive=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def test_only_json_is_taken(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        body = json.dumps({"text": TEXT}).encode()
        assert (
            client.post("/api/explain", content=body, headers={"content-type": kind}).status_code
            == 415
        )


def test_wrong_addresses_and_methods_are_refused_as_json(client):
    for method, path, status in [
        ("GET", "/nowhere", 404),
        ("GET", "/api/explain", 405),
        ("DELETE", "/", 405),
    ]:
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, "missing")
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404
    assert client.get("/api/answers/nobody/answer.json").status_code == 404


def test_a_full_line_is_told_politely(tmp_path):
    folder = lasting_model(tmp_path / "lasting")
    with (
        serving("--model", str(folder), "--workers", "1") as address,
        ThreadPoolExecutor(24) as pool,
    ):

        def one(_: int) -> int:
            with httpx.Client(base_url=address, timeout=120, trust_env=False) as client:
                answer = client.post("/api/explain", json=lasting(seconds=0.2))
                if answer.status_code == 503:
                    assert answer.headers["retry-after"] == "1"
                    assert answer.json()["error"]["code"] == "busy"
                return answer.status_code

        found = list(pool.map(one, range(24)))
    assert set(found) == {200, 503}
    assert found.count(200) >= 17


# --- other sites ---


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil"]
)
def test_another_host_name_is_not_answered(client, host):
    assert client.get("/api", headers={"host": host}).status_code == 421


def test_loopback_names_are_answered(client):
    port = client.base_url.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert client.get("/api", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil"]
)
def test_another_origin_may_not_ask(client, origin):
    answer = client.post("/api/explain", json={"text": TEXT}, headers={"origin": origin})
    assert answer.status_code == 403


def test_a_foreign_page_may_link_here_but_not_ask(client):
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200
    assert client.get("/api", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_its_own_origin_may_ask(client):
    own = str(client.base_url).rstrip("/")
    assert (
        client.post("/api/explain", json={"text": TEXT}, headers={"origin": own}).status_code == 200
    )


def test_every_answer_carries_the_policies(client):
    for path in ("/", "/static/page.js", "/style.css", "/api", "/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe-inline" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers


# --- the document ---


def test_the_document_describes_what_is_there(client):
    document = client.get("/api/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    told = client.get("/api").json()
    assert {f"/api/{verb}" for verb in told["verbs"]} <= set(document["paths"])
    assert set(told["verbs"]) == {"explain", "contrast", "bias", "profile", "neighbours"}
    schema = document["paths"]["/api/explain"]["post"]["requestBody"]["content"][
        "application/json"
    ]["schema"]
    assert schema["required"] == ["text"]
    assert schema["properties"]["model"]["enum"] == ["sst-fc25", "lasting"]


def test_every_address_of_the_api_is_in_the_document():
    made = make_app(["sst-fc25"])
    known = fields.questions(["sst-fc25"], fields.Limits())
    document = openapi.document(known, fields.corpus(["sst-fc25"], fields.Limits()))
    served = {
        route.path.replace("{key}", "{id}")
        for route in made.routes
        if route.path.startswith("/api")
    }
    assert served == set(document["paths"])


def test_the_sets_of_the_page_and_of_the_document_are_those_of_the_table(client):
    told = client.get("/api").json()
    assert [one["kind"] for one in told["sets"]] == [kind.name for kind in table.KINDS if kind.may]
    assert told["default"] == {"kind": "bundled-substitutes"}
    sets = client.get("/api/openapi.json").json()["components"]["schemas"]["Perturbation"]
    assert sets["oneOf"] == json.loads(json.dumps(table.schema()["oneOf"]))
    assert sets["default"] == told["default"]


SETS = [
    {"kind": "bundled-substitutes"},
    {"kind": "removal-or-swap", "swaps": {"film": ["movie"]}},
    {"kind": "deletion", "at_most": 2},
    {"kind": "word-swap", "swaps": {"film": ["movie"]}, "at_most": 1},
    {"kind": "mask"},
    {"kind": "mask", "token": "film"},
    {"kind": "knn-box", "k": 5},
    {"kind": "knn-hull", "k": 5},
    {"kind": "epsilon-ball", "eps": 0.01},
    {"kind": "epsilon-ball", "eps": 0.01, "p": 2},
]


@pytest.mark.parametrize("given", SETS, ids=lambda given: "-".join(map(str, given.values())))
def test_every_set_of_the_table_can_be_asked_about(client, given):
    answer = ask(client, perturbation=given)
    assert answer.status_code == 200, answer.text


def test_the_sets_asked_about_are_all_that_the_table_offers():
    assert {given["kind"] for given in SETS} == {kind.name for kind in table.KINDS if kind.may}


def test_the_documents_defaults_are_what_is_used():
    questions = fields.questions(["m"], fields.Limits())
    for verb, known in questions.items():
        given = {"text": "x", "word": "x", "protected": [], "steps": [1]}
        question = fields.validated({name: given[name] for name in given if name in known}, known)
        shown = openapi.document({verb: known}, {})["paths"][f"/api/{verb}"]["post"]["requestBody"]
        properties = shown["content"]["application/json"]["schema"]["properties"]
        for name, value in question.items():
            if "default" in properties[name]:
                assert properties[name]["default"] == value
            assert known[name].check(value) is None


def test_nothing_is_written_beside_the_server(tmp_path, monkeypatch):
    """Run in an empty folder with an empty temporary folder: both stay empty."""
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "here"))
    before = time.time()
    with serving("--model", "sst-fc25", "--workers", "1") as address:
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
            assert ask(client).status_code == 200
        found = [
            path
            for path in tmp_path.rglob("*")
            if path.is_file() and path.stat().st_mtime >= before - 1
        ]
    assert found == []


def test_a_client_that_has_gone_is_not_sent_what_is_waiting():
    """Many messages at once, and a client that hangs up at the first: asyncio complains about the
    fifth lost write.
    """
    sent: list[dict[str, Any]] = []

    class Job:
        async def messages(self):
            for number in range(50):
                yield "progress", {"number": number}

    class Desk:
        clerks = SimpleNamespace(place=nullcontext)

        @asynccontextmanager
        async def job(self, verb, question):
            yield "key", Job()

    async def listen() -> None:
        gone = anyio.Event()

        async def receive():
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)
            if b"progress" in message.get("body", b""):
                gone.set()

        await Posed(Desk(), "explain", {}, live=True)({}, receive, send)

    anyio.run(listen)
    assert 1 <= sum(b"progress" in message.get("body", b"") for message in sent) < 5


def test_a_port_that_is_taken_is_refused_with_what_to_do(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    assert capsys.readouterr().err == (
        f"suffice: Port {port} is in use: name another one, or --port 0 for one that is free.\n"
    )
