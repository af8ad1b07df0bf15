# One image for every command: fairlead, fairlead-worker, fairlead-scheduler, fairlead-autoscaler,
# fairlead-console.
#
# Plain instructions only: `docker build` without BuildKit builds it too. `make image` fills in the
# arguments, and docs/how-to/build-an-image.md puts an application on top of it.

ARG BASE=python:3.13-slim-trixie

# What the program rests on, in a layer of its own: most versions change nothing of it.
FROM ${BASE} AS dependencies
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_COMPILE=1
WORKDIR /source
COPY requirements/programs.txt ./
RUN python3 -m venv --without-pip /opt/fairlead \
 && python3 -m pip --python /opt/fairlead/bin/python install --require-hashes --requirement programs.txt
# Nothing imports the sources of a build's tests, 16 MB of one wheel, or the asynchronous half of
# the Kubernetes client, 63 MB.
# The byte code is made here, since the root is read-only later. It is never compared with its
# source: a comparison of times fails where a builder rewrites them, and costs each start a little.
RUN cd /opt/fairlead/lib/python*/site-packages && rm -rf bazel-project kubernetes/aio \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/fairlead/lib \
 && find /opt/fairlead -exec touch --no-dereference --date @0 {} +

# What builds the program and lists the parts, away from them.
FROM dependencies AS tools
COPY requirements/image.txt ./
RUN python3 -m venv /opt/tools \
 && /opt/tools/bin/python -m pip install --require-hashes --requirement image.txt

# The program itself, and the list of its parts.
FROM tools AS program
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY worker worker
COPY scheduler scheduler
COPY autoscaler autoscaler
COPY console console
COPY cli cli
# The commit's time, so that the same source makes the same layer.
ARG SOURCE_DATE_EPOCH=0
RUN /opt/tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
 && python3 -m pip --python /opt/fairlead/bin/python install --no-deps --no-index --prefix /program /wheel/*.whl \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      -s /program -p /opt/fairlead /program/lib \
 && PYTHONPATH=$(echo /program/lib/python*/site-packages) /opt/tools/bin/cyclonedx-py environment \
      --pyproject pyproject.toml --mc-type application --output-reproducible \
      --output-file /program/fairlead.cdx.json /opt/fairlead/bin/python \
 && find /program -exec touch --no-dereference --date "@${SOURCE_DATE_EPOCH}" {} +

FROM ${BASE}
# Nothing in here can install or fetch a package. Public bases come without the standard library's
# byte code, and each start would make it anew under a read-only root.
RUN find / -xdev -regextype posix-extended -regex \
      '.*/((site|dist)-packages/(pip|setuptools|wheel|pkg_resources|_distutils_hack)(-[^/]*)?|ensurepip|python-wheels|bin/(pip|wheel)[0-9.]*)' \
      -prune -exec rm -rf {} + \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      -x '/(test|idlelib|tkinter|turtledemo|pydoc_data|site-packages|dist-packages)/' \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=dependencies /opt/fairlead /opt/fairlead
COPY --from=program /program /opt/fairlead
ENV PATH=/opt/fairlead/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Where an application's modules are looked for.
WORKDIR /app
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ARG BASE
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Fairlead" \
      org.opencontainers.image.description="A fair work queue on PostgreSQL that runs as a worker fleet on Kubernetes." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
CMD ["fairlead", "--help"]
