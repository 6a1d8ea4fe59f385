"""App: the routes. Each reads, checks, hands over, and answers; the page and its parts are files
beside this one.
"""

from __future__ import annotations

import errno
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
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from suffice.errors import InputError
from suffice.importers.named import load_any
from suffice.model import saved as models
from suffice.model.saved import DEFAULT
from suffice.render import growth
from suffice.render.style import sheet
from suffice.sets import table
from suffice.sets.substitutes import groups
from suffice.version import __version__
from suffice.web import cards, corpora, fields, guard, jobs, openapi
from suffice.web.asking import Desk, Posed
from suffice.web.clerks import Clerks
from suffice.web.corpora import Corpora, Running
from suffice.web.guard import Guard, Patient, Refusal

STATIC = Path(__file__).parent / "static"
PAGES = {"/": "index.html", "/compare": "compare.html", "/corpus": "corpus.html"}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def run(
    host: str, port: int, chosen: Sequence[str], workers: int | None, names: Sequence[str]
) -> None:
    """Serve until interrupted."""
    if not 0 <= port < 65536:
        raise InputError(f"The port must be a number from 0 to 65535, not {port}.")
    if workers is not None and workers < 1:
        raise InputError(f"There must be at least 1 worker, not {workers}.")
    app = make_app(
        chosen, workers or max(1, min(4, os.cpu_count() or 1)), hosts=(*LOOPBACK, host, *names)
    )
    with _listening(host, port) as listener:
        place = f"[{host}]" if ":" in host else host
        print(
            f"suffice is at http://{place}:{listener.getsockname()[1]}  (Ctrl-C to stop)",
            flush=True,
        )
        config = uvicorn.Config(
            app,
            http=Patient,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        with suppress(
            KeyboardInterrupt
        ):  # uvicorn closes everything, then says that it was interrupted
            uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise InputError(
            f"Port {port} is in use: name another one, or --port 0 for one that is free."
        ) from error


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
        state.corpora = Corpora(limits)
        clerks.start()
        yield
        await clerks.close()
        state.corpora.close()

    return Starlette(
        routes=state.routes(),
        lifespan=lifespan,
        middleware=[Middleware(Guard, hosts=hosts, pages=PAGES)],
        exception_handlers={Refusal: _refused, 404: _missing, 405: _missing},
    )


def folders(chosen: Sequence[str]) -> dict[str, str]:
    """Names to folders: a client can name these and nothing else."""
    found = {_short(name): name for name in chosen}
    if len(found) < len(chosen):
        raise InputError("Two of the models have the same name.")
    return found or {
        name: name for name in sorted(models.bundled(), key=lambda name: (name != DEFAULT, name))
    }


def _short(name: str) -> str:
    """What clients call a model: a folder, also hf:FOLDER, by its last part."""
    folder = Path(name.removeprefix("hf:"))
    return folder.resolve().name if folder.is_dir() else name


class Routes:
    """What the routes share."""

    desk: Desk
    corpora: Corpora

    def __init__(
        self,
        offered: Mapping[str, str],
        questions: Mapping[str, Mapping[str, fields.Field]],
        limits: fields.Limits,
    ) -> None:
        self.offered = offered
        self.questions = questions
        self.limits = limits
        self.corpus_fields = fields.corpus(list(offered), limits)
        self.models = []
        self.cards = {}
        for name, folder in offered.items():
            model = load_any(folder)
            self.models.append(cards.about(name, folder, model))
            self.cards[name] = cards.card(folder, model)

    def routes(self) -> list[Route | Mount]:
        return [
            *(Route(path, self.page) for path in PAGES),
            Route("/style.css", self.style),
            Route("/api", self.about),
            Route("/api/openapi.json", self.openapi),
            Route("/api/models/{name}/card", self.card),
            Route("/api/jobs/{key}/stop", self.stop, methods=["POST"]),
            Route("/api/answers/{key}/{file}", self.download),
            Route("/api/corpora", self.put, methods=["POST"]),
            Route("/api/corpora/{key}", self.corpus),
            Route("/api/corpora/{key}/run", self.run, methods=["POST"]),
            Route("/api/corpora/{key}/{file}", self.corpus_file),
            *(
                Route(f"/api/{verb}", self.ask, methods=["POST"], name=verb)
                for verb in self.questions
            ),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / PAGES[request.url.path], headers={"cache-control": "no-cache"})

    async def card(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.cards:
            raise Refusal(404, "missing", "There is no such model here.")
        return Response(self.cards[name], media_type="text/markdown; charset=utf-8")

    async def style(self, request: Request) -> Response:
        return Response(
            sheet(growth.STYLE), media_type="text/css", headers={"cache-control": "no-cache"}
        )

    async def about(self, request: Request) -> Response:
        told = ("characters", "seconds", "body", "upload", "rows")
        limits = {name: getattr(self.limits, name) for name in told}
        sets = {"sets": table.menu(), "default": fields.DEFAULT_SET, "groups": list(groups())}
        offered = {"models": self.models, "verbs": list(self.questions), **sets}
        return JSONResponse({"version": __version__, **offered, "limits": limits})

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(openapi.document(self.questions, self.corpus_fields))

    async def ask(self, request: Request) -> Posed:
        verb = request.url.path.rpartition("/")[2]
        question = await self._question(request, self.questions[verb], self.limits.body)
        live = "text/event-stream" in request.headers.get("accept", "")
        return Posed(self.desk, verb, {**question, "folder": self.offered[question["model"]]}, live)

    async def _question(
        self, request: Request, known: Mapping[str, fields.Field], limit: int
    ) -> dict[str, Any]:
        try:
            return fields.validated(fields.parse(await guard.body(request, limit)), known)
        except fields.Invalid as error:
            status = 400 if error.field == "body" else 422
            raise Refusal(status, "invalid", str(error), error.field) from error

    # --- many texts ---

    async def put(self, request: Request) -> Response:
        given = await self._question(request, self.corpus_fields, self.limits.upload)
        if given["task"] == "bias" and not given["protected"] and not given["groups"]:
            raise Refusal(
                422,
                "invalid",
                "protected: name at least one protected word, or a group.",
                "protected",
            )
        found = await self.corpora.put({**given, "folder": self.offered[given["model"]]})
        return JSONResponse(found.to_dict())

    async def corpus(self, request: Request) -> Response:
        found = self.corpora.get(request.path_params["key"])
        return JSONResponse({**found.to_dict(), "lines": list(found.done.values())})

    async def run(self, request: Request) -> Running:
        await guard.body(request, self.limits.body)
        return Running(self.desk, self.corpora.get(request.path_params["key"]))

    async def corpus_file(self, request: Request) -> Response:
        found = self.corpora.get(request.path_params["key"])
        name = request.path_params["file"]
        if not found.done:
            raise Refusal(404, "gone", "No row is done yet.")
        match name, found.question["task"]:
            case "report.html", "bias":
                return _file(name, (await corpora.files(self.desk, found))["html"], "text/html")
            case "table.csv", "bias":
                return _file(name, (await corpora.files(self.desk, found))["csv"], "text/csv")
            case "table.csv", _:
                return _file(name, corpora.table(found), "text/csv")
            case "lines.jsonl", _:
                headers = _attached(name)
                return StreamingResponse(
                    corpora.lines(found), media_type="application/x-ndjson", headers=headers
                )
        raise Refusal(404, "gone", f"This file of texts has no {name[:40]}.")

    async def stop(self, request: Request) -> Response:
        self.desk.stop(request.path_params["key"])
        return Response(status_code=202)

    async def download(self, request: Request) -> Response:
        kept = self.desk.shelf.get(request.path_params["key"])
        name = request.path_params["file"]
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
        return _file(name, data, kind)


def _file(name: str, data: bytes | str, kind: str) -> Response:
    return Response(data, media_type=kind, headers=_attached(name))


def _attached(name: str) -> dict[str, str]:
    return {
        "content-disposition": f'attachment; filename="suffice-{name}"',
        "cache-control": "no-store",
    }


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    said = (
        "This address takes another method."
        if status == 405
        else "There is nothing at this address."
    )
    response = Refusal(status, "missing", said).response()
    response.headers.update(getattr(error, "headers", None) or {})
    return response
