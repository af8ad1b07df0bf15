"""What holds a pool's pods is named as kubectl names it."""

import pytest

from fairlead_autoscaler.targets import Removal, Target, parsed


@pytest.mark.parametrize(
    ("text", "kind", "path", "removal"),
    [
        ("gpu", "Deployment", "/apis/apps/v1/namespaces/n/deployments", "unready-first"),
        (
            "statefulsets.v1.apps/gpu",
            "StatefulSet",
            "/apis/apps/v1/namespaces/n/statefulsets",
            "last-first",
        ),
        (
            "rollouts.v1alpha1.argoproj.io/gpu",
            "Rollout",
            "/apis/argoproj.io/v1alpha1/namespaces/n/rollouts",
            "unready-first",
        ),
        (
            "podtemplates.v1/gpu",
            "PodTemplate",
            "/api/v1/namespaces/n/podtemplates",
            "by-themselves",
        ),
        ("fleets.v2.x.dev/gpu", "fleets", "/apis/x.dev/v2/namespaces/n/fleets", "unknown"),
    ],
)
def test_a_target_says_where_it_is_and_which_of_its_pods_go(
    text: str, kind: str, path: str, removal: str
) -> None:
    """Resource, version and group, then its name; a name alone is a Deployment's."""
    found = parsed(text)

    assert found is not None
    assert (text, kind, path, Removal(removal)) == (
        str(found),
        found.kind,
        found.path("n"),
        found.removal,
    )


def test_a_deployment_has_one_name() -> None:
    """Written in full, it is the same target."""
    assert Target(name="gpu") == parsed("deployments.v1.apps/gpu")


@pytest.mark.parametrize("text", ["", "a/b", "statefulsets.apps/gpu", "Gpu", "x.v1.y/", "a b"])
def test_what_names_no_target_is_none(text: str) -> None:
    """The version is part of it: an API server serves a resource in several."""
    assert parsed(text) is None
