"""P11: resident memory of the scheduler with ten thousand lanes and of a worker's processes.

Those are the parent, its child, and the template that forks children.
"""

from __future__ import annotations

from bench.context import Context, say
from bench.outcome import Outcome, figure
from bench.scenarios import scheduler, worker


def run(context: Context) -> Outcome:
    """Read the memory that P8's scheduler and P9's worker had at the end of their load."""
    leader = scheduler.observe(context).memory
    ours = worker.observe(context)
    figures = (
        figure("scheduler_mib", "scheduler, 10,000 lanes", "MiB", [leader.rss_mib]),
        figure("parent_mib", "worker parent", "MiB", [ours.parent_memory.rss_mib]),
        figure("child_mib", "worker child", "MiB", [ours.child_memory.rss_mib]),
        figure("template_mib", "template of children", "MiB", [ours.template_memory.rss_mib]),
        figure("scheduler_pss_mib", "scheduler, shared pages split", "MiB", [leader.pss_mib]),
        figure("parent_pss_mib", "parent, the same", "MiB", [ours.parent_memory.pss_mib]),
        figure("child_pss_mib", "child, the same", "MiB", [ours.child_memory.pss_mib]),
        figure("template_pss_mib", "template, the same", "MiB", [ours.template_memory.pss_mib]),
    )
    say("  memory: " + ", ".join(f"{each.label} {each.value.median:,.1f}" for each in figures))
    return Outcome(scenario="P11", figures=figures)
