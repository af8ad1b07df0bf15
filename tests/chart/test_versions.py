"""The chart on every Kubernetes that it is for, and its text by an API server's schema."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from tests.support.chart import (
    ADDED,
    EVERYTHING,
    GIVEN,
    PRODUCTION,
    TRIAL,
    Json,
    Object,
    Refused,
    at,
    needs_helm,
    text,
)
from tests.support.real_api import Api, needs_api_server

pytestmark = [needs_helm]

KUBECONFORM = shutil.which("kubeconform") or ""
VALUES: dict[str, Object] = {
    "given": GIVEN,
    "trial": {**EVERYTHING, "database": {}, **TRIAL},
    "production": PRODUCTION,
    "added": ADDED,
    "added by a hook": {
        **ADDED,
        "migrations": {"mode": "hook", "serviceAccount": {"create": True}},
    },
    "hook": {**GIVEN, "migrations": {"mode": "hook"}},
    "off": {**GIVEN, "autoscaler": {"enabled": False}, "policy": {"source": "database"}},
}


def test_every_version_that_the_chart_is_for_gets_the_same_objects() -> None:
    """Nothing in it asks for the version, so that `helm template` says what is installed."""
    (oldest, *others) = (
        text(EVERYTHING, f"--kube-version=1.{minor}.0") for minor in (29, 31, 33, 36)
    )

    assert {oldest} == set(others)


def test_an_older_version_is_refused() -> None:
    """Helm names the versions that it accepts."""
    with pytest.raises(Refused) as caught:
        text(GIVEN, "--kube-version=1.28.9")

    assert "requires kubeVersion: >=1.29.0-0" in caught.value.said


def reached(definitions: dict[str, Json], name: str, found: dict[str, Json]) -> dict[str, Json]:
    """Return a definition and all that it refers to."""
    if name not in found:
        found[name] = {} if name.endswith(".Quantity") else strict(definitions[name])
        for other in references(definitions[name]):
            reached(definitions, other, found)
    return found


def references(schema: Json) -> set[str]:
    """Return the names that a schema refers to."""
    if isinstance(schema, list):
        return {name for each in schema for name in references(each)}
    if not isinstance(schema, dict):
        return set()
    named = schema.get("$ref")
    found = {named.rpartition("/")[2]} if isinstance(named, str) else set[str]()
    for rule in schema.values():
        found |= references(rule)
    return found


def strict(schema: Json) -> Json:
    """Return a schema that refuses unknown fields, and takes numbers for text or number."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string":
        return {"type": ["string", "number"]}
    made = {key: strict(rule) for key, rule in schema.items()}
    if isinstance(schema.get("properties"), dict):
        made["additionalProperties"] = False
    return made


def write_schemas(api: Api, folder: Path) -> None:
    """Write what the API server says of each kind, as kubeconform looks for it."""
    definitions = cast("dict[str, Json]", api.ask("GET", "/openapi/v2")[1]["definitions"])
    for name, schema in definitions.items():
        kinds = at(schema, "x-kubernetes-group-version-kind")
        for kind in cast("list[dict[str, str]]", kinds or []):
            group = kind["group"].partition(".")[0]
            parts = [part for part in (kind["kind"].lower(), group, kind["version"]) if part]
            if len(cast("list[Json]", kinds)) == 1 and not parts[0].endswith("list"):
                made: Object = {
                    "$ref": f"#/definitions/{name}",
                    "definitions": reached(definitions, name, {}),
                }
                (folder / f"{'-'.join(parts)}.json").write_text(json.dumps(made))


@needs_api_server
@pytest.mark.skipif(not KUBECONFORM, reason="kubeconform is not here: put it into PATH")
@pytest.mark.xdist_group("api")
@pytest.mark.timeout(300)
def test_the_text_fits_what_an_api_server_says_of_each_kind(api: Api, tmp_path: Path) -> None:
    """No unknown field, no field twice, no wrong type; the operator's kinds are not known."""
    write_schemas(api, tmp_path)
    for name, values in VALUES.items():
        (tmp_path / f"{name}.yaml").write_text(text(values))
    (tmp_path / "wrong.yaml").write_text(
        text(GIVEN).replace("revisionHistoryLimit: 3", "revisionHistoryLimits: 3")
    )
    done = {
        name: subprocess.run(
            [
                *(KUBECONFORM, "-strict", "-skip=PodMonitor,PrometheusRule,ServiceMonitor"),
                f"-schema-location={tmp_path}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
                str(tmp_path / f"{name}.yaml"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for name in (*VALUES, "wrong")
    }

    assert "revisionHistoryLimits" in done.pop("wrong").stdout
    assert {} == {name: each.stdout for name, each in done.items() if each.returncode}
