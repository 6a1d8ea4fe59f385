"""What the tests of the page share: a browser, and a page in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from serving import browser, opened


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture
def tab(chromium) -> Iterator[Any]:
    with opened(chromium, viewport={"width": 1100, "height": 900}) as page:
        yield page
