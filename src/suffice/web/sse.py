"""Server-sent events, as ASGI messages."""

from __future__ import annotations

import json
from typing import Any

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
START = {"type": "http.response.start", "status": 200, "headers": HEADERS}


def part(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


def event(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return part(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())


END = part(b"", more=False)
