# A server for a model folder:
#   docker build -t kleene .
#   docker run --rm -p 8000:8000 -e KLEENE_TOKEN=secret -v "$PWD/model:/model:ro" kleene
# The same on a read-only file system, where compiled kernels need a volume and uploads /tmp:
#   docker run --read-only --tmpfs /tmp -v kleene-cache:/var/cache/kleene ... kleene
FROM python:3.12-slim

# Numba uses a cache only where the user may write; beside the package only root may.
ENV NUMBA_CACHE_DIR=/var/cache/kleene
RUN useradd --create-home server \
 && install --directory --owner=server --group=server "$NUMBA_CACHE_DIR"

WORKDIR /kleene
COPY pyproject.toml setup.py README.md LICENSE constraints.txt ./
COPY src src
# The compiler of the kernels is needed for the build only.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
      -c constraints.txt ".[web,draw]" \
 && apt-get purge --yes --auto-remove gcc libc6-dev && rm -rf /var/lib/apt/lists/*
USER server
RUN kleene demo --out /tmp/demo && rm -r /tmp/demo

EXPOSE 8000
HEALTHCHECK --start-period=2m --timeout=5s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["kleene"]
CMD ["serve", "/model", "--host", "0.0.0.0", "--log-level", "info"]
