"""`kleene serve`: a page and a JSON API for models."""

from kleene.errors import extra

with extra("web"):
    import fastapi as _fastapi  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
