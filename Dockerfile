# One image for every command: fairlead, fairlead-worker, fairlead-scheduler.

FROM python:3.13-slim-trixie AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY core core
COPY worker worker
COPY scheduler scheduler
ENV PIP_CONSTRAINT=/source/constraints.txt PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The environment has no pip of its own; byte code is made now, since the root is read-only later.
RUN python -m venv --without-pip /opt/fairlead \
 && pip --python /opt/fairlead/bin/python install --compile .

FROM python:3.13-slim-trixie
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3.13/ensurepip \
    /usr/local/lib/python3.13/site-packages/pip*
COPY --from=build /opt/fairlead /opt/fairlead
ENV PATH=/opt/fairlead/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
CMD ["fairlead", "--help"]
