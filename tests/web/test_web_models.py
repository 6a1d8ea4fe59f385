"""Any classifier behind the page: a transformer from its folder, and what a person is told of each
model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import serving

import suffice as sf
from suffice.web import cards
from suffice.web.app import folders

# a bias that no pooled vector of the network outweighs: the label is sure on every machine
SURE = 100.0


@pytest.fixture(scope="module")
def transformer(tmp_path_factory) -> Path:
    """A small transformer as `save_pretrained` leaves it, with a README."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    from tests.importers.test_huggingface import LABELS, bert, made

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    network, splitter = made(bert)
    with torch.no_grad():
        network.classifier.bias[:] = 0.0
        network.classifier.bias[LABELS.index("positive")] = SURE
    network.save_pretrained(folder)
    splitter.save_pretrained(folder)
    (folder / "README.md").write_text("# tiny-bert\n\nMade for a test.\n", encoding="utf-8")
    return folder


@pytest.mark.slow  # every worker loads torch and transformers anew
def test_a_transformer_is_served_from_its_folder(transformer):
    with (
        serving("--model", f"hf:{transformer}", "--workers", "1") as address,
        httpx.Client(base_url=address, timeout=120, trust_env=False) as client,
    ):
        (model,) = client.get("/api").json()["models"]
        assert (model["name"], model["labels"]) == (
            "tiny-bert",
            ["negative", "neutral", "positive"],
        )
        assert str(transformer.parent) not in json.dumps(model)
        assert client.get("/api/models/tiny-bert/card").text.startswith("# tiny-bert")
        asked = {"text": "a gripping film", "perturbation": {"kind": "deletion"}}
        told = dict(streamed(client, asked))
        scores = {one["label"]: one["probability"] for one in told["text"]["scores"]}
        assert scores["positive"] > 0.99
        assert (told["answer"]["result"]["status"], told["answer"]["result"]["positions"]) == (
            "optimal",
            [],
        )
        assert "done" in told
        flip = client.post("/api/contrast", json=asked).json()
        assert flip["status"] == "none"


def streamed(client: httpx.Client, asked: dict[str, Any]) -> list[tuple[str, Any]]:
    with client.stream(
        "POST", "/api/explain", json=asked, headers={"accept": "text/event-stream"}
    ) as response:
        parts = response.read().decode().split("\n\n")
    pairs = [part.split("\n") for part in parts if part.startswith("event: ")]
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in pairs
    ]


def test_every_bundled_model_has_a_title_facts_and_a_card():
    titles = set()
    for name in folders([]):
        model = sf.load(name)
        told = cards.about(name, name, model)
        assert told["title"] == cards.TITLES[name]
        assert told["facts"].startswith(f"{name}: says {model.labels[0]}")
        assert model.digest in cards.card(name, model)
        titles.add(told["title"])
    assert len(titles) == len(folders([]))


def test_a_folder_that_is_called_like_a_bundled_model_does_not_get_its_title(tmp_path):
    sf.load("sst-fc25").save(tmp_path / "sentiment")
    model = sf.load(tmp_path / "sentiment")
    told = cards.about("sentiment", str(tmp_path / "sentiment"), model)
    assert told["title"] == "sentiment: negative, positive"
    assert cards.card(str(tmp_path / "sentiment"), model).startswith("# sentiment")


def test_what_a_folder_says_of_its_accuracy_is_believed_only_as_numbers():
    assert (
        cards._right({"accuracy": {"test": 0.5}, "rows": {"test": 10}})
        == " Right on 50.0% of 10 test texts."
    )
    for meta in (
        {},
        {"accuracy": "high"},
        {"accuracy": {"test": "0.9"}, "rows": {"test": 1}},
        {"accuracy": None},
    ):
        assert cards._right(meta) == ""
