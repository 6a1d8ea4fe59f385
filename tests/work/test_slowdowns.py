"""Every planted slow-down takes more work than is allowed."""

from __future__ import annotations

import pytest

from tests.work.counts import counts_of, recorded, too_much
from tests.work.questions import fixtures
from tests.work.slowdowns import SLOWDOWNS


@pytest.mark.parametrize("name", SLOWDOWNS)
def test_a_slow_down_is_found(name, monkeypatch):
    plant, where = SLOWDOWNS[name]
    chosen = [one for one in fixtures() if where in one.name]
    assert chosen
    assert too_much(counts_of(chosen), recorded()) == []
    plant(monkeypatch)
    assert too_much(counts_of(chosen), recorded())
