"""`kleene serve`: a page and a JSON API for models, and the page of a training run."""

from kleene.errors import extra

with extra("web"):
    import fastapi as _fastapi  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
