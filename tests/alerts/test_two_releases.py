"""Two releases in one namespace: each one's alerts see its own series, and no other's."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.promtool import (
    NAMESPACE,
    Fired,
    choice,
    complaints,
    group,
    healthy,
    laid_over,
    needs_promtool,
    within,
)

pytestmark = needs_promtool

AT = ("13m",)
LEADERLESS = {'fairlead_leader{program="scheduler", instance="s1"}': "1x9 0+0x20"}
NO_LEADER = Fired(
    alert="FairleadNoLeader",
    labels={},
    says="No scheduler has led for 1m. Running jobs continue; nothing new starts.",
)


@pytest.mark.parametrize(("release", "fires"), [("ill", (NO_LEADER,)), ("well", ())])
def test_a_release_without_a_leader_is_not_masked_by_another_one(
    release: str, fires: tuple[Fired, ...], tmp_path: Path
) -> None:
    """Its own rules tell it, and the other one's are silent."""
    series = {
        **within(healthy(AT), NAMESPACE, "well"),
        **within(laid_over(LEADERLESS, healthy(AT)), NAMESPACE, "ill"),
    }
    chosen = replace(choice(), release=release)

    tried = group("two releases", series, AT, fires, chosen=chosen)
    assert "" == complaints([tried], tmp_path, chosen)
