"""What Kubernetes is given of a policy that is edited in a ConfigMap."""

import pytest
import yaml

from fairlead_console.pages.manifests import manifest

_PLACE = "the ConfigMap shop-policy in the namespace shop"


@pytest.mark.parametrize(
    "document",
    [
        "queues: []\n",
        "queues: []",
        "queues: []\n\n\n",
        "\n\nqueues: []\n",
        "  queues: []\n",
        "queues: []\n# a\u2028b\n",
        "queues:\n\t# a tab\n\n  - match: {queue: 'é'}\n",
        "queues: []\r\n",
        "--- \n{}\n...\n",
        "",
        "\n",
        "#",
    ],
)
def test_it_says_the_same_text(document: str) -> None:
    """Whatever YAML makes of ends of lines and of indents."""
    text = manifest(document, _PLACE).text

    assert {"data": {"policy.yaml": document}} == yaml.safe_load(text)


def test_it_is_lines_where_people_read_it() -> None:
    """And one that names no place says so."""
    assert "data:\n  policy.yaml: |\n    a: 1\n    b: 2\n" == manifest("a: 1\nb: 2\n", "").text
    assert "configmap NAME --namespace NAMESPACE" in manifest("", "somewhere").command
