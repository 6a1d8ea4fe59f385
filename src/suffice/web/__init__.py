"""The page and its JSON API: ask in a browser, watch the proof close. No logic: every answer is a verb's."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.errors import MissingExtra


def serve(
    host: str = "127.0.0.1", port: int = 8000, models: Sequence[str] = (), workers: int | None = None, quiet: bool = False
) -> None:
    """Serve the page until Ctrl-C. `models` are bundled names or folders; all bundled ones when none is given."""
    try:
        from suffice.web.app import run
    except ImportError as error:
        raise MissingExtra("web", "starlette and uvicorn") from error
    run(host, port, models, workers, quiet)
