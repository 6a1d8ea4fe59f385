"""The page and its JSON API: ask in a browser, watch the proof close. No logic: every answer is a
verb's.
"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.errors import MissingExtra


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    models: Sequence[str] = (),
    workers: int | None = None,
    names: Sequence[str] = (),
) -> None:
    """Serve the page until Ctrl-C.

    `models` are bundled names or folders; all bundled ones when none is given. `names` are host
    names, beside loopback and `host`, under which a browser may ask for it.
    """
    try:
        from suffice.web.app import run
    except ModuleNotFoundError as error:
        if error.name in ("starlette", "uvicorn", "anyio"):
            raise MissingExtra("web", "starlette and uvicorn") from error
        raise
    run(host, port, models, workers, names)
