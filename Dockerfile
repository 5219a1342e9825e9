# The stdio server in a container. Two stages: the tools that build the package stay behind.
#   docker build -t palimpsest-mcp .
#   docker run -i --rm --read-only --network none --cap-drop ALL --security-opt no-new-privileges -v palimpsest:/data palimpsest-mcp
# The base by its digest, so that a build tomorrow is the build of today; a newer one: --build-arg BASE=IMAGE@DIGEST
ARG BASE=python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /app
# Of a fleet (docs/fleet.md): --build-arg REQUIREMENTS=postgres
ARG REQUIREMENTS=runtime
COPY requirements/*.txt requirements/
RUN python -m venv /tools \
    && /tools/bin/pip install --require-hashes -r requirements/build.txt \
    && /app/bin/pip install --require-hashes -r "requirements/$REQUIREMENTS.txt"
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /app/bin/pip install --no-deps --no-index /wheels/*.whl

FROM ${BASE}
LABEL io.modelcontextprotocol.server.name="io.github.palimpsest-mcp/palimpsest-mcp" \
      org.opencontainers.image.title="palimpsest-mcp" \
      org.opencontainers.image.description="Keeps an agent's context window healthy" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.source="https://github.com/palimpsest-mcp/palimpsest-mcp" \
      org.opencontainers.image.documentation="https://github.com/palimpsest-mcp/palimpsest-mcp#readme"
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin palimpsest \
    && install -d -o palimpsest -g palimpsest -m 0700 /data
COPY --from=build /app /app
ENV PATH="/app/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PALIMPSEST_HOME=/data
USER 10001
VOLUME /data
ENTRYPOINT ["palimpsest-mcp"]
CMD ["serve"]
