"""The page of a server: one document, its script and its style."""

from __future__ import annotations

from html import escape

from fastapi import FastAPI, Response

from kleene.report.html import asset, script


def add_page(app: FastAPI, own: str, start: str, root_path: str = "") -> None:
    """Serve a page that runs `start` from the script file `own`.

    `root_path` is the prefix under which a proxy serves the application.
    """
    root = escape(root_path.rstrip("/"), quote=True)
    document = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Kleene</title>'
        f'<link rel="stylesheet" href="{root}/kleene.css"></head>'
        f'<body><div id="page" data-root="{root}">'
        "<noscript>This page needs JavaScript; the JSON API does not.</noscript></div>"
        f'<script src="{root}/kleene.js"></script></body></html>\n'
    )
    code = f"{script(own)}\n{start}(document.getElementById('page'));\n"
    parts = {
        "/": (document, "text/html"),
        "/kleene.js": (code, "text/javascript"),
        "/kleene.css": (asset("style.css"), "text/css"),
    }
    for path, (content, kind) in parts.items():
        _add(app, path, Response(content, media_type=kind))


def _add(app: FastAPI, path: str, response: Response) -> None:
    @app.get(path, include_in_schema=False)
    async def part() -> Response:
        return response
