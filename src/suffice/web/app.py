"""App: the routes. Each reads, checks, hands over, and answers; the page and its parts are files beside this one."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from suffice.errors import InputError
from suffice.importers.named import load_any
from suffice.model import classifier as models
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import DEFAULT
from suffice.render.style import sheet
from suffice.sets import table
from suffice.version import __version__
from suffice.web import fields, guard, jobs, openapi
from suffice.web.asking import Asking, Desk
from suffice.web.clerks import Clerks
from suffice.web.guard import Guard, Patient, Refusal

STATIC = Path(__file__).parent / "static"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def run(host: str, port: int, chosen: Sequence[str], workers: int | None, names: Sequence[str]) -> None:
    """Serve until interrupted."""
    if not 0 <= port < 65536:
        raise InputError(f"The port must be a number from 0 to 65535, not {port}.")
    if workers is not None and workers < 1:
        raise InputError(f"There must be at least 1 worker, not {workers}.")
    app = make_app(chosen, workers or max(1, min(4, os.cpu_count() or 1)), hosts=(*LOOPBACK, host, *names))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        place = f"[{host}]" if ":" in host else host
        print(f"suffice is at http://{place}:{listener.getsockname()[1]}  (Ctrl-C to stop)", flush=True)
        config = uvicorn.Config(
            app,
            http=Patient,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        with suppress(KeyboardInterrupt):  # uvicorn closes everything, then says that it was interrupted
            uvicorn.Server(config).run(sockets=[listener])


def make_app(
    chosen: Sequence[str] = (),
    workers: int = 2,
    limits: fields.Limits = fields.Limits(),  # noqa: B008  (frozen)
    hosts: Sequence[str] = LOOPBACK,
) -> Starlette:
    """The application; `chosen` are bundled names or folders, all bundled ones when empty."""
    offered = folders(chosen)
    questions = fields.questions(list(offered), limits)
    state = Routes(offered, {verb: questions[verb] for verb in jobs.VERBS}, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        clerks = Clerks(workers, limits.waiting)
        state.desk = Desk(clerks, limits)
        clerks.start()
        yield
        await clerks.close()

    return Starlette(
        routes=state.routes(),
        lifespan=lifespan,
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={Refusal: _refused, 404: _missing, 405: _missing},
    )


def folders(chosen: Sequence[str]) -> dict[str, str]:
    """Names to folders: a client can name these and nothing else."""
    found = {Path(name).resolve().name if Path(name).is_dir() else name: name for name in chosen}
    if len(found) < len(chosen):
        raise InputError("Two of the models have the same name.")
    return found or {name: name for name in sorted(models.bundled(), key=lambda name: (name != DEFAULT, name))}


class Routes:
    """What the routes share."""

    desk: Desk

    def __init__(
        self, offered: Mapping[str, str], questions: Mapping[str, Mapping[str, fields.Field]], limits: fields.Limits
    ) -> None:
        self.offered, self.questions, self.limits = offered, questions, limits
        self.models = [{"name": name, **_facts(load_any(folder))} for name, folder in offered.items()]

    def routes(self) -> list[Route | Mount]:
        return [
            Route("/", self.page),
            Route("/style.css", self.style),
            Route("/api", self.about),
            Route("/api/openapi.json", self.openapi),
            Route("/api/jobs/{key}/stop", self.stop, methods=["POST"]),
            Route("/api/answers/{key}/{file}", self.download),
            *(Route(f"/api/{verb}", self.ask, methods=["POST"], name=verb) for verb in self.questions),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def style(self, request: Request) -> Response:
        return Response(sheet(), media_type="text/css", headers={"cache-control": "no-cache"})

    async def about(self, request: Request) -> Response:
        limits = {"characters": self.limits.characters, "seconds": self.limits.seconds, "body": self.limits.body}
        sets = {"sets": table.menu(), "default": fields.DEFAULT_SET}
        offered = {"models": self.models, "verbs": list(self.questions), **sets}
        return JSONResponse({"version": __version__, **offered, "limits": limits})

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(openapi.document(self.questions))

    async def ask(self, request: Request) -> Asking:
        verb = request.url.path.rpartition("/")[2]
        try:
            data = fields.parse(await guard.body(request, self.limits.body))
            question = fields.validated(data, self.questions[verb])
        except fields.Invalid as error:
            status = 400 if error.field == "body" else 422
            raise Refusal(status, "invalid", str(error), error.field) from error
        live = "text/event-stream" in request.headers.get("accept", "")
        return Asking(self.desk, verb, {**question, "folder": self.offered[question["model"]]}, live)

    async def stop(self, request: Request) -> Response:
        self.desk.stop(request.path_params["key"])
        return Response(status_code=202)

    async def download(self, request: Request) -> Response:
        kept, name = self.desk.shelf.get(request.path_params["key"]), request.path_params["file"]
        if name == "report.html":
            await kept.finished.wait()  # it comes after the answer
        forms = {
            "answer.json": (kept.json, "application/json"),
            "report.html": (kept.report, "text/html; charset=utf-8"),
            "answer.cert": (kept.certificate, "application/octet-stream"),
        }
        data, kind = forms.get(name, (None, ""))
        if data is None:
            raise Refusal(404, "gone", f"This answer has no file {name[:40]}.")
        headers = {"content-disposition": f'attachment; filename="suffice-{name}"', "cache-control": "no-store"}
        return Response(data, media_type=kind, headers=headers)


def _facts(model: models.Classifier | BlackBox) -> dict[str, Any]:
    """What is known of a model; of a black box only what it calls its labels."""
    facts: dict[str, Any] = {"labels": list(model.labels), "digest": model.digest}
    if isinstance(model, BlackBox):
        return facts
    return {**facts, "length": model.length, "vocabulary": len(model.vocabulary)}


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    said = "This address takes another method." if status == 405 else "There is nothing at this address."
    response = Refusal(status, "missing", said).response()
    response.headers.update(getattr(error, "headers", None) or {})
    return response
