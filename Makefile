# Needs make and Python >= 3.11; everything else goes into .venv.

PYTHON ?= python3
# How many test processes run side by side: TEST_PROCESSES, or 4, each with a PostgreSQL of its own. They
# wait for a part of their time, so two cores have work for four. On a cluster its own default holds.
PROCESSES := $(or $(TEST_PROCESSES),4)

# Where the environment forbids bytecode, as in many container images, each of the hundreds of processes
# that the tests start would compile all of Fairlead anew; collecting the tests alone takes twice the CPU.
export PYTHONDONTWRITEBYTECODE :=

# What Hypothesis draws its examples from: a commit is green or red by itself. `make test-long SEED=2` looks at
# others, and pytest alone at others each time.
SEED ?= 1

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest --numprocesses=$(PROCESSES) --dist=loadgroup --hypothesis-seed=$(SEED)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
READY := .venv/ready-$(shell cat pyproject.toml requirements/develop.txt | cksum | tr ' ' '-')

# The image's name, what more to say to docker build (BuildKit: --sbom=true --provenance=mode=max),
# and what the image says of itself. One commit makes one time, so that it makes the same layers again.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
IMAGE ?= fairlead:$(VERSION)
IMAGE_BASE ?= python:3.13-slim-trixie
IMAGE_ARGS ?=
REVISION ?= $(shell git describe --always --dirty --abbrev=40 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
CREATED = $(shell $(PYTHON) -c 'import sys, time; print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(sys.argv[1]))))' $(SOURCE_DATE_EPOCH))

# Each dependency of a program at its lower bound, without its marker.
define LOWEST
import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
for line in {*project["dependencies"], *extras["scheduler"], *extras["autoscaler"], *extras["cli"], *extras["console"]}:
    print(re.sub(r">=([\w.]+).*", r"==\1", line))
endef
export LOWEST
# The tests that meet every one of them.
LOWEST_TESTS := $(addprefix tests/integration/,cli/test_cli.py cli/test_bad_arguments.py core/test_client.py \
  core/test_migrate.py worker/test_parent_start.py scheduler/test_service.py scheduler/test_cron.py worker/test_outcomes.py)

.DEFAULT_GOAL := help
.PHONY: help setup quick room test check test-long proof search test-servers test-lowest test-kubernetes test-django demo observe dev bench bench-long bench-fairness bench-fairness-long bench-autoscaling chaos chaos-long image test-image chart docs test-docs e2e e2e-long constraints clean

help: ## print this help
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-19s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv with every pinned dependency (again only when they change)

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fairlead needs Python 3.11 or newer, and $(PYTHON) is not that: run make PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	  { echo "$(PYTHON) cannot create an environment: install its venv module (Debian: python3-venv)"; exit 2; }
	@echo "Installing the pinned dependencies into .venv (a minute, once)"
	@$(PIP) install --require-hashes --requirement requirements/develop.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f .venv/ready-*
	@touch $@

# What differs from BASE, the last commit if not said otherwise, files that git does not know included;
# not the programs that type checkers have to refuse.
PYTHON_FILES = '*.py' ':!tests/typing/refused'
CHANGED = $(shell { git diff --name-only --diff-filter=d $(or $(BASE),HEAD) -- $(PYTHON_FILES); git ls-files --others --exclude-standard -- $(PYTHON_FILES); } | sort -u)

quick: setup ## check format, lint, types of what changed, unit tests: under a minute
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(if $(CHANGED),$(BIN)/mypy $(CHANGED))
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadgroup --quiet $(if $(ROOM),tests/unit/$(ROOM),tests/unit)

room: setup ## run one room's tests: make room ROOM=worker
	$(PYTEST) $(or $(wildcard tests/unit/$(ROOM) tests/integration/$(ROOM)),$(error say which room: make room ROOM=core, scheduler, worker, autoscaler, console or cli))

# Whether PostgreSQL of this major version is here.
HAS_SERVER = $(BIN)/python -c "from fairlead_cli.dev.binaries import binaries; binaries($(1))" 2>/dev/null

NO_15 = PostgreSQL 15 is not here: NO ATTACKS WERE TRIED ON IT
# Of the attacks, those on rights, which versions of PostgreSQL differ in; test-servers has all.
SAMPLE_15 = tests/attacks/test_rights.py

test: setup ## run the tests: unit, property, integration, short chaos, some attacks on PostgreSQL 15 too; make check, test-long and test-docs have the rest
	@if $(call HAS_SERVER,15); then FAIRLEAD_TEST_POSTGRES=15 $(PYTEST) --quiet $(SAMPLE_15); \
	  else echo "$(NO_15)"; fi
	$(PYTEST) --ignore=tests/tidy --ignore=tests/typing --ignore=tests/site
	@$(call HAS_SERVER,15) || echo "$(NO_15)"

test-long: setup ## run the hot statements over a million rows, the fair order through thousands of histories, more examples of every property, what make test has a sample of
	$(PYTEST) tests -m long --ignore=tests/chaos --ignore=tests/cluster
	$(PYTEST) tests/property -m "hypothesis and not long" --hypothesis-profile=thorough --timeout=600
	$(BIN)/python -m tests.support.attack_search --steps 60 --seed 1

# Each part says what it finds, also where one before it has found something.
proof: setup ## explore the model, judge mutants, simulate, run operations in every order of their steps (hours): SEEDS=100, SWITCHES=2 for parts, SCHEDULE="..." for one
ifdef SCHEDULE
	$(BIN)/python -m tests.interleavings $(SCHEDULE)
else
	@failed=; \
	$(BIN)/python -m tests.model || [ $$? = 2 ] || failed="$$failed, the model"; \
	$(BIN)/python -m tests.mutants || failed="$$failed, mutants"; \
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),2000) || failed="$$failed, simulations"; \
	FAIRLEAD_TEST_SWITCHES=$(or $(SWITCHES),0) $(PYTEST) tests/interleavings tests/simulation -m proof || failed="$$failed, interleavings"; \
	test -z "$$failed" || { echo "These have found something:$${failed#,}"; exit 1; }
endif

search: setup ## look for a worse attack on the fair order, from a printed seed: make search STEPS=1000 PART=swing
	$(BIN)/python -m tests.support.attack_search $(if $(STEPS),--steps $(STEPS)) $(if $(SEARCH_SEED),--seed $(SEARCH_SEED)) $(if $(PART),--part $(PART))

# With LONG=yes those over a million rows too.
test-servers: setup ## run the tests of the SQL and the attacks on PostgreSQL 15 and 16 as well, or on SERVERS=15
	@for version in $(or $(SERVERS),15 16); do \
	  $(call HAS_SERVER,$$version) || { echo "PostgreSQL $$version is not here: skipped"; continue; }; \
	  echo "PostgreSQL $$version:"; \
	  FAIRLEAD_TEST_POSTGRES=$$version $(PYTEST) --quiet -m "not any_server$(if $(LONG),, and not long)" \
	    tests/integration tests/attacks || exit 1; \
	done

test-lowest: ## run a part of the tests on the lowest versions that are allowed
	rm -rf .venv-lowest && $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev,plot,test]' $$($(PYTHON) -c "$$LOWEST")
	.venv-lowest/bin/python -m pytest --quiet --numprocesses=$(PROCESSES) --dist=loadgroup tests/unit $(LOWEST_TESTS)
	rm -rf .venv-lowest

test-kubernetes: setup ## run the tests of the cluster's API with both majors of the client
	@rm -rf .venv-kubernetes
	@$(PIP) install --target .venv-kubernetes 'kubernetes>=36.0.3,<37'
	FAIRLEAD_TEST_KUBERNETES=37 $(PYTEST) tests/api
	FAIRLEAD_TEST_KUBERNETES=36 PYTHONPATH=.venv-kubernetes $(PYTEST) tests/api
	@rm -rf .venv-kubernetes

# Side by side, the longest first; the house's rules run mypy again, over what it has just learnt.
check: setup ## check format, lint, types, import contracts, house rules, generated pages, typing of the API, advisories
	@$(MAKE) --no-print-directory --jobs=2 check-pyright check-mypy check-style check-house check-advisories

.PHONY: check-pyright check-mypy check-style check-house check-advisories
check-pyright:
	$(BIN)/pyright

check-mypy:
	$(BIN)/mypy

check-style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

check-house: check-mypy
	$(BIN)/python -m pytest --quiet tests/tidy tests/typing

check-advisories:
	@$(BIN)/python -m tests.support.advisories

test-django: ## run the tests of fairlead.django with Django 6: make test-django PYTHON=/path/to/python3.12, or newer
	rm -rf .venv-django && $(PYTHON) -m venv .venv-django
	.venv-django/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev,test]' 'django>=6,<7'
	.venv-django/bin/python -m pytest --quiet --numprocesses=$(PROCESSES) --dist=loadgroup -m 'not proof' $(wildcard tests/integration/core/test_django_*.py) tests/integration/examples
	rm -rf .venv-django

demo: setup ## watch a fleet analyse the Python source on this machine
	$(BIN)/python -m examples.demo

observe: setup ## watch a fleet at work in Prometheus, with its alerts, until Ctrl-C
	@$(BIN)/python -m tests.support.observed $(if $(FOR),--seconds $(FOR))

dev: setup ## run a fleet on this machine: make dev APP=myapp.jobs:tasks
	$(BIN)/fairlead dev --app $(or $(APP),$(error say which application: make dev APP=myapp.jobs:tasks))

bench: setup ## measure against the bars (about ten minutes)
	$(BIN)/python -m bench

bench-long: setup ## measure what takes hours: ten million jobs, long snapshots
	$(BIN)/python -m bench long

bench-fairness: setup ## hold the fair order against its targets, on PostgreSQL too (ten minutes)
	$(BIN)/python -m bench.fairness

bench-fairness-long: setup ## the same at full scale, five runs of each row (half a day)
	$(BIN)/python -m bench.fairness --form full --runs 5

bench-autoscaling: setup ## play the autoscaler against others over a simulated fleet, and what it costs
	$(BIN)/python -m bench.autoscaling
	$(BIN)/python -m bench.autoscaling.cost

chaos: setup ## kill, freeze and cut everything for a long while, from a printed seed
	$(BIN)/python -m pytest tests/chaos -m "long or not long" --capture=no

chaos-long: setup ## have each fault happen a hundred times, and record the gaps (10 hours, in parts): FAULT=kill_the_leader TIMES=100 MINUTES=60
	$(BIN)/python -m tests.chaos.repeats --record $(if $(FAULT),--fault $(FAULT)) $(if $(TIMES),--times $(TIMES)) $(if $(MINUTES),--minutes $(MINUTES))

image: ## build the image of every command: make image IMAGE=registry.example/fairlead:1.0
	@docker version >/dev/null 2>&1 || { echo "the image needs a Docker engine, and none answers here"; exit 2; }
	docker build --tag $(IMAGE) --build-arg BASE=$(IMAGE_BASE) --build-arg VERSION=$(VERSION) \
	  --build-arg REVISION=$(REVISION) --build-arg CREATED=$(CREATED) \
	  --build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(IMAGE_ARGS) .

test-image: setup image ## build the image and hold it to what it promises
	FAIRLEAD_TEST_IMAGE=$(IMAGE) FAIRLEAD_TEST_IMAGE_BASE=$(IMAGE_BASE) $(BIN)/python -m pytest tests/image

chart: setup ## lint, test and package the Helm chart into dist (wants helm)
	@command -v helm >/dev/null || { echo "helm is not here: put helm 3.14 or newer into PATH"; exit 2; }
	helm lint --strict charts/fairlead --set trialDatabase.enabled=true
	helm lint --strict charts/fairlead --values charts/fairlead/values-production.yaml
	$(PYTEST) tests/chart
	helm package charts/fairlead --destination dist

# Any warning fails it: a broken link, a page that nothing leads to, two headings with one anchor.
docs: setup ## build the site of the pages into build/docs, to be opened without a server
	rm -rf build/docs
	$(BIN)/python -m sphinx --builder site --conf-dir docs/site --doctree-dir build/doctrees --jobs 2 \
	  --fail-on-warning --keep-going --fresh-env --quiet . build/docs
	@echo "build/docs/index.html"

test-docs: docs ## build it, and hold it to its links and its search, in a browser too where chromium is
	FAIRLEAD_TEST_SITE=build/docs $(BIN)/python -m pytest --quiet tests/site

E2E = IMAGE=$(IMAGE) IMAGE_BASE=$(IMAGE_BASE) IMAGE_ARGS='$(IMAGE_ARGS)' PYTHON=$(BIN)/python MAKE=$(MAKE) \
  TEST_PROCESSES=$(TEST_PROCESSES) tests/cluster/run

e2e: setup ## run the tests on a real cluster: the one that KUBECONFIG names, else one of kind's
	+@$(E2E)

e2e-long: setup ## the same with faults of two minutes, jobs of one, and a hundred repeats (half an hour)
	+@LONG=yes FAIRLEAD_TEST_FAULT_SECONDS=120 FAIRLEAD_TEST_JOB_SECONDS=60 $(E2E)

# One file for each place that installs, good for every platform and every Python. uv can resolve for all of
# them at once; what installs is pip, which comes with Python.
PINS = .venv-pins/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-annotate --custom-compile-command 'make constraints'
constraints: ## pin the newest allowed versions anew, with the hashes of all their files
	rm -rf .venv-pins && $(PYTHON) -m venv .venv-pins
	.venv-pins/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(PINS) pyproject.toml --extra all --extra dev --extra plot --extra test --group build --group docs --output-file requirements/develop.txt
	$(PINS) pyproject.toml --extra all --constraint requirements/develop.txt --output-file requirements/programs.txt
	$(PINS) --group image --constraint requirements/develop.txt --output-file requirements/image.txt
	rm -rf .venv-pins

clean: ## remove the environment and every cache (not the data of fairlead dev)
	rm -rf .venv .venv-* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find core worker scheduler autoscaler console cli tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
