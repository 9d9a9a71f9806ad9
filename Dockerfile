# A server for a model folder:
#   docker build -t kleene .
#   docker run --rm -p 8000:8000 -e KLEENE_TOKEN=secret -v "$PWD/model:/model:ro" kleene
FROM python:3.12-slim

WORKDIR /kleene
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
      -c constraints.txt . \
 && kleene warm \
 && useradd --create-home server
USER server

EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=3)"]
ENTRYPOINT ["kleene"]
CMD ["serve", "/model", "--host", "0.0.0.0", "--log-level", "info", "--log-json"]
