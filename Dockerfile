# The service in a container:
#     docker build --tag counterpoint .
#     docker run --publish 8000:8000 --volume "$PWD/demo:/data:ro" --env COUNTERPOINT_TOKEN counterpoint \
#         --model model.skops --data known.csv --target decision --allow-host credit.example.com
# The folder /data holds the model and the table of known instances. Without a token and an allowed host, it answers
# health checks only to others than itself.
FROM python:3.12-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 OMP_NUM_THREADS=1

COPY pyproject.toml README.md LICENSE constraints.txt /src/
COPY src /src/src
RUN pip install --constraint /src/constraints.txt '/src[cli,serve]' \
    && rm -r /src \
    && useradd --create-home --uid 10001 counterpoint

USER 10001
WORKDIR /data
EXPOSE 8000

HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["counterpoint", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["--help"]
