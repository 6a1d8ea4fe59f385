"""Bounds that parts of a proof share are those that each of them has alone, for the prover and for
the checker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suffice as sf
from suffice.proof.check import network
from suffice.verify.nets.branch import unit_branching

TEXT = (
    "This film is a wonderful , moving and funny piece of work but the end is dull and far too "
    "long for me"
)


def close(mine: Any, other: Any) -> bool:
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(mine, other, strict=True))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[bool]]:
    """Whether what is shared is the same as what is worked out for each alone, each time that
    something is.
    """
    seen: dict[str, list[bool]] = {"prover": [], "checker": []}
    hidden, step_bounds = (
        unit_branching.intermediate_bounds,
        network.NetworkBounds._bounds_with_lemmas,
    )

    def both(
        form: Any, inputs: Any, signs: Any = None, known: Any = None, budget: Any = None
    ) -> Any:
        shared = hidden(form, inputs, signs, known, budget)
        alone = hidden(form, inputs, signs)
        if signs is not None and len(np.unique(signs, axis=0)) > 1:
            seen["prover"].append(close((shared.lower, shared.upper), (alone.lower, alone.upper)))
        return shared

    def checked(
        self: Any, k: int, inputs: Any, states: Any, before: Any, ends: Any, around: Any
    ) -> Any:
        assert np.isinf(ends).all()  # nothing is stated in such small networks
        shared = step_bounds(self, k, inputs, states, before, ends, around)
        if len(np.unique(before, axis=0)) > 1:
            seen["checker"].append(
                close(shared, self.intermediate_bounds(k, inputs, states, around))
            )
        return shared

    monkeypatch.setattr(unit_branching, "intermediate_bounds", both)
    monkeypatch.setattr(network.NetworkBounds, "_bounds_with_lemmas", checked)
    return seen


@pytest.mark.parametrize("model", ["sst-fc25", "sst-cnn25"])
def test_parts_that_share_bounds_have_them_alone_too(
    model: str, compared: dict[str, list[bool]]
) -> None:
    for k in (15, 25):
        assert sf.explain(sf.load(model), TEXT, perturbation=sf.KNNBox(k)).meta["checked"]
    assert len(compared["prover"]) > 2
    assert len(compared["checker"]) > 1
    assert all(compared["prover"])
    assert all(compared["checker"])
