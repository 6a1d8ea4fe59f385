"""The OpenAPI document, made from the same fields that validate requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.sets import table
from suffice.version import __version__
from suffice.web.fields import DEFAULT_SET, Field

ABOUT = {
    "explain": "The cheapest set of words that decides the label, with proof.",
    "contrast": "The cheapest set of words whose change flips the label, with the flip.",
    "bias": "Whether the label depends on protected words.",
    "profile": (
        "How the explanation grows with the sets: with their size, or with how many words change "
        "at once."
    ),
    "neighbours": "What a word may become.",
}
REFUSALS = {
    "400": "Not JSON.",
    "403": "Asked by another site.",
    "408": "The question did not arrive in time.",
    "413": "The body is too large.",
    "415": "Not application/json.",
    "422": "A field is wrong; the answer says which and what would do.",
    "503": "All workers are busy and the line is full; Retry-After says when to come back.",
}


PERTURBATION = {**table.schema(), "default": DEFAULT_SET}
ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "field": {"type": ["string", "null"]},
            },
            "required": ["code", "message", "field"],
        }
    },
    "required": ["error"],
}


def document(
    questions: Mapping[str, Mapping[str, Field]], corpus: Mapping[str, Field]
) -> dict[str, Any]:
    """The whole document; only verbs that this installation has."""
    paths: dict[str, Any] = {
        "/api": _get("What this server offers: version, models, sets, verbs and limits."),
        "/api/openapi.json": _get("This document."),
        "/api/models/{name}/card": _card(),
        "/api/jobs/{id}/stop": _stop(),
        "/api/answers/{id}/{file}": _download(
            "Download an answer.", ["answer.json", "report.html", "answer.cert"]
        ),
        "/api/corpora": _put(corpus),
        "/api/corpora/{id}": _get("A file of texts: its rows that are done.", _parameter("id")),
        "/api/corpora/{id}/run": _run(),
        "/api/corpora/{id}/{file}": _download(
            (
                "Download what is done of a file of texts; the report only where protected words "
                "were asked about."
            ),
            ["report.html", "table.csv", "lines.jsonl"],
        ),
    }
    paths |= {f"/api/{verb}": _ask(verb, fields) for verb, fields in questions.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "suffice",
            "version": __version__,
            "description": "Which words suffice, with proof.",
        },
        "paths": paths,
        "components": {"schemas": {"Perturbation": PERTURBATION, "Error": ERROR}},
    }


def _ask(verb: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    found = {
        "description": f"The dictionary that `suffice {verb} --json` prints; or, where the client "
        "accepts text/event-stream, the events job, text, progress, phase and answer (or refused "
        "or failed), and then equal, words, next, report and done.",
        "headers": {
            "X-Suffice-Answer": {
                "schema": {"type": "string"},
                "description": "The id for downloads.",
            }
        },
        "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}},
    }
    return _post(ABOUT[verb], verb, fields, found)


def _put(fields: Mapping[str, Field]) -> dict[str, Any]:
    found = {
        "description": "Its id, how many rows it has and how many are done: the same file with the "
        "same question is the same, and goes on where it was.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    return _post("Bring a file of texts, and what to ask of each.", "corpus", fields, found)


def _run() -> dict[str, Any]:
    about = (
        "Ask the rows that are left, for as long as the connection is open: an event `row` each, "
        "and then `done`."
    )
    responses = {
        "200": {"description": "The rows.", "content": {"text/event-stream": {}}},
        "404": _refusal("Gone."),
    }
    return {"post": {"summary": about, "parameters": [_parameter("id")], "responses": responses}}


def _post(
    about: str, name: str, fields: Mapping[str, Field], found: dict[str, Any]
) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {
        "post": {
            "summary": about,
            "operationId": name,
            "requestBody": body,
            "responses": {"200": found, **{code: _refusal(why) for code, why in REFUSALS.items()}},
        }
    }


def _refusal(why: str) -> dict[str, Any]:
    return {
        "description": why,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _get(about: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    found = {"description": about, "content": {"application/json": {"schema": {"type": "object"}}}}
    return {"get": {"summary": about, "parameters": list(parameters), "responses": {"200": found}}}


def _parameter(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", **schema}}


def _stop() -> dict[str, Any]:
    about = (
        "Stop what is being done: a search answers with the best proved so far, what follows an "
        "answer ends."
    )
    responses = {"202": {"description": "It is being stopped."}, "404": _refusal("No such job.")}
    return {"post": {"summary": about, "parameters": [_parameter("id")], "responses": responses}}


def _card() -> dict[str, Any]:
    responses = {"200": {"description": "Markdown."}, "404": _refusal("No such model.")}
    return {
        "get": {
            "summary": "A model's card.",
            "parameters": [_parameter("name")],
            "responses": responses,
        }
    }


def _download(about: str, files: list[str]) -> dict[str, Any]:
    parameters = [_parameter("id"), _parameter("file", enum=files)]
    responses = {
        "200": {"description": "The file."},
        "404": _refusal("No longer kept, or there is no such file."),
    }
    return {"get": {"summary": about, "parameters": parameters, "responses": responses}}
