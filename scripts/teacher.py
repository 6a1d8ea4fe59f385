"""A teacher: the encoder all-MiniLM-L6-v2 with a head for the labels, both learned from a task's
rows.

The bundled models are small; they learn what a large model says of many texts, also of texts nobody
labelled and of texts with words left out. The teacher itself is not shipped.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distil
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

# texts at a time, and pieces of words of each
BATCH = 32
PIECES = 64
POOL = 50  # batches that are sorted by length together, so that little is padding
ASKED = 4000  # texts between two times that answers are kept
RATE = 6e-5
HEAD_RATE = 1e-3
WARM = 0.06
FROZEN = 2  # the first layers stay as they were, as do the vectors of word pieces


@dataclass(frozen=True)
class Teacher:
    """An encoder and the map from the mean of its vectors to scores."""

    encoder: Any
    tokenizer: Any
    head: torch.nn.Linear

    def scores(self, texts: Sequence[str]) -> Tensor:
        batch = self.tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, max_length=PIECES
        )
        hidden = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        return self.head((hidden * mask).sum(1) / mask.sum(1))

    @torch.no_grad()
    def shares(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The share of each class (n, classes)."""
        self.encoder.eval()
        found = np.zeros((len(texts), self.head.out_features), np.float32)
        order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), texts[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            found[places] = self.scores([texts[place] for place in places]).softmax(1).numpy()
        return found


def untaught(classes: int, seed: int) -> Teacher:
    torch.manual_seed(seed)
    tokenizer, encoder = distil.encoder()
    for part in (encoder.embeddings, *encoder.encoder.layer[:FROZEN]):
        part.requires_grad_(False)
    return Teacher(encoder, tokenizer, torch.nn.Linear(encoder.config.hidden_size, classes))


def batches(texts: Sequence[str], seed: int) -> Iterator[list[int]]:
    """Places of texts in random order, those of a batch about equally long."""
    chance = random.Random(seed)
    order = list(range(len(texts)))
    chance.shuffle(order)
    for start in range(0, len(order), BATCH * POOL):
        pool = sorted(order[start : start + BATCH * POOL], key=lambda place: len(texts[place]))
        found = [pool[first : first + BATCH] for first in range(0, len(pool), BATCH)]
        chance.shuffle(found)
        yield from found


def learned(
    texts: Sequence[str], labels: Sequence[int], classes: int, epochs: int, seed: int
) -> Teacher:
    """A teacher that has learned from the rows."""
    teacher = untaught(classes, seed)
    done = 0
    own = [value for value in teacher.encoder.parameters() if value.requires_grad]
    groups = [
        {"params": own, "full": RATE},
        {"params": teacher.head.parameters(), "full": HEAD_RATE},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    steps = epochs * math.ceil(len(texts) / BATCH)
    for epoch in range(epochs):
        teacher.encoder.train()
        for places in batches(texts, seed + epoch):
            for part in optimiser.param_groups:
                part["lr"] = (
                    part["full"] * min(1.0, (done + 1) / (WARM * steps)) * (1 - done / steps)
                )
            optimiser.zero_grad()
            scores = teacher.scores([texts[place] for place in places])
            loss = cross_entropy(scores, torch.tensor([labels[place] for place in places]))
            loss.backward()
            optimiser.step()
            done += 1
            if done % 100 == 0:
                print(f"  teacher: step {done} of {steps}, loss {loss.item():.3f}", flush=True)
    return teacher


def answers(
    texts: Sequence[str], make: Callable[[], Teacher], work: Path | None
) -> dict[str, NDArray[np.float32]]:
    """The shares of the classes for each text; the teacher and its answers stay in the folder
    `work`, if given.
    """
    if work:
        work.mkdir(parents=True, exist_ok=True)
    file = work / "answers.npz" if work else None
    known = distil.kept(file)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        teacher = kept(work / "teacher.pt" if work else None, make)
        for start in range(0, len(missing), ASKED):
            part = missing[start : start + ASKED]
            known |= dict(zip(part, teacher.shares(part), strict=True))
            distil.keep(file, known)
            print(f"  teacher: {start + len(part)} of {len(missing)} texts", flush=True)
    return known


def vectors(
    words: Sequence[str], make: Callable[[], Teacher], work: Path | None
) -> NDArray[np.float32]:
    """One vector of length 1 for each word, by the encoder of the teacher, which has learned the
    task.
    """

    def made() -> tuple[Any, Any]:
        teacher = kept(work / "teacher.pt" if work else None, make)
        return teacher.tokenizer, teacher.encoder.eval()

    return distil.encoded(words, work / "words.npz" if work else None, made)


def kept(file: Path | None, make: Callable[[], Teacher]) -> Teacher:
    """The teacher in the file, or a new one, which is put there."""
    if file is None or not file.exists():
        teacher = make()
        if file is not None:
            torch.save(
                {"encoder": teacher.encoder.state_dict(), "head": teacher.head.state_dict()}, file
            )
        return teacher
    state = torch.load(file, weights_only=True)
    teacher = untaught(len(state["head"]["bias"]), 0)
    teacher.encoder.load_state_dict(state["encoder"])
    teacher.head.load_state_dict(state["head"])
    return teacher
