"""The demo's picture: each tenant's progress over time, and what was killed when."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from collections.abc import Sequence
from pathlib import Path

from fairlead.demo.report import Wait, small_tenants


def draw(
    path: Path,
    waited: Sequence[Wait],
    totals: dict[str, int],
    events: Sequence[tuple[float, str]],
) -> None:
    """Draw each tenant's progress over time, and what was killed when, into an SVG or PNG."""
    from matplotlib.figure import Figure  # slow to import, and needed at the end only

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    small = small_tenants(totals)
    for name, total in totals.items():
        ends = [w.ended_seconds for w in waited if w.tenant == name and w.kind == "measure"]
        share = [100 * (index + 1) / total for index in range(len(ends))]
        is_small = name in small
        axes.step(
            [0.0, *ends],
            [0.0, *share],
            where="post",
            linewidth=0.8 if is_small else 1.8,
            color="tab:green" if is_small else None,
            alpha=0.35 if is_small else 0.9,
            label="" if is_small else name,
        )
    axes.plot([], [], color="tab:green", label=f"{len(small)} small packages")
    for seconds, what in events:
        axes.axvline(seconds, color="tab:red", linestyle=":", linewidth=1)
        axes.annotate(what, (seconds, 2), rotation=90, fontsize=7, color="tab:red", ha="right")
    axes.set_xlabel("seconds since the jobs were inserted")
    axes.set_ylabel("% of the package's files measured")
    axes.set_title("Small tenants finish early beside a flood")
    axes.legend(fontsize=7, loc="lower right")
    figure.savefig(path)
