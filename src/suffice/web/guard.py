"""Guard: what stands before every request, so that another site or a careless client cannot misuse
the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
PATIENCE = 10.0  # seconds to send a request's head, and as many for its body


class Refusal(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field

    def response(self) -> JSONResponse:
        error = {"code": self.code, "message": self.message, "field": self.field}
        headers = {"retry-after": "1"} if self.status == 503 else None
        return JSONResponse({"error": error}, self.status, headers)


class Guard:
    """Checks Host and Origin, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], pages: Collection[str]) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self.refusal(scope)
        await (self.app if refusal is None else refusal.response())(scope, receive, guarded)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is not answered; None where it is."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin = headers.get("origin")
        if hostname(host) not in self.hosts:
            return Refusal(421, "host", "This server does not answer to that host name.")
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host}".lower():
            return Refusal(403, "origin", "Another site may not ask this server.")
        foreign = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
        if foreign and scope["path"] not in self.pages:
            return Refusal(403, "origin", "Another site may not ask this server.")
        return None


def hostname(host: str) -> str:
    """The host without its port: localhost:8000 to localhost, [::1]:8000 to [::1]."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


async def body(request: Request, limit: int) -> bytes:
    """The body of a JSON request, not more than `limit` bytes of it and not slower than a minute
    hand.
    """
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise Refusal(415, "type", "Send the question as application/json.")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise _too_large(limit)
    try:
        return await asyncio.wait_for(_read(request, limit), PATIENCE)
    except TimeoutError as error:
        raise Refusal(408, "slow", "The question did not arrive in time.") from error
    except ClientDisconnect as error:
        raise Refusal(400, "gone", "The question did not arrive.") from error


async def _read(request: Request, limit: int) -> bytes:
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise _too_large(limit)
    return data


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "size", f"The question is larger than {limit} bytes.")


class Patient(H11Protocol):
    """Closes a connection on which no whole request has come in time, also one that is kept open
    for more.
    """

    clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def _look(self) -> None:
        """The clock runs while the head of a request is awaited; bodies have their own limit."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()
        elif self.clock is None:
            self.clock = self.loop.call_later(PATIENCE, self.transport.close)

    def _stop_clock(self) -> None:
        if self.clock is not None:
            self.clock.cancel()
            self.clock = None
