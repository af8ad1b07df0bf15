"""`fairlead autoscaler`: why a pool has as many pods as it has; and take over their number."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import fleet, formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import pod_counts, tables
from fairlead_cli.session import session

if TYPE_CHECKING:
    from fairlead_autoscaler.kube.port import KubePort
    from fairlead_autoscaler.targets import Target

app = typer.Typer(
    help="Show how many pods each pool has, and why. Without a command: a line for each pool."
)

_NONE = (
    "no decision is written down: a pool needs `autoscale` in the policy, and a "
    "`fairlead-autoscaler` or `fairlead dev` that leads"
)


def _pods(row: Row, which: str) -> str:
    found = pod_counts.count(row, which)
    return "-" if found is None else str(found)


COLUMNS = (
    tables.text("pool", "pool"),
    tables.Column("pods", lambda row: _pods(row, "requested"), right=True),
    tables.Column("ready", lambda row: _pods(row, "ready"), right=True),
    tables.Column("draining", lambda row: _pods(row, "draining"), right=True),
    tables.Column("decided", pod_counts.since, right=True),
    tables.Column("reason", lambda row: str(pod_counts.decision(row)["reason"])),
    tables.Column("that is", lambda row: str(pod_counts.decision(row)["message"])),
)


@app.callback(invoke_without_command=True)
def autoscaler(context: typer.Context, *, as_json: tables.AsJson = False) -> None:
    """List pools, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        with session() as connection:
            found = fleet.pool_decisions(connection)
        tables.rows(found, COLUMNS, as_json=as_json, none=_NONE)
    elif as_json:
        raise CommandError(
            "--json belongs behind the command: `fairlead autoscaler explain POOL --json`"
        )


@app.command("explain")
def explain(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the policy.")],
    *,
    as_json: tables.AsJson = False,
) -> None:
    """Explain why a pool has the number of pods it has."""
    with session() as connection:
        found = fleet.pool_decisions(connection, pool)
        others = fleet.pool_decisions(connection)
    if not found:
        names = ", ".join(str(row["pool"]) for row in others)
        known = f"the pools that are decided on are {names}" if names else _NONE
        raise NegativeAnswer(f"nothing was decided for the pool {pool!r}: {known}")
    if as_json:
        tables.print_json(found[0])
        return
    tables.fields(_lines(found[0]))


@app.command("adopt")
def adopt(
    *,
    kubeconfig: Annotated[
        str | None, typer.Option(help="How to reach the cluster; not needed in a pod.")
    ] = None,
    as_json: tables.AsJson = False,
) -> None:
    """Adopt every pool's present number of pods.

    An upgrade keeps it then. It is run once before `autoscaler.enabled=true` on a release
    that rendered `replicas`. A repeat changes nothing.
    """
    from pydantic import ValidationError

    from fairlead.settings import explain as explained
    from fairlead_autoscaler.kube.port import KubeError
    from fairlead_autoscaler.settings import AutoscalerSettings

    try:
        settings = AutoscalerSettings()
    except ValidationError as error:
        raise CommandError(explained(error)) from None
    if not settings.targets:
        said = "FAIRLEAD_POOL_TARGETS names no target: run it in the autoscaler's pod"
        raise CommandError(f"{said}, or set it to pool=target")
    try:
        tell_adopted(
            adopted(_cluster(settings.namespace, kubeconfig), settings.targets),
            as_json=as_json,
        )
    except KubeError as error:
        raise CommandError(str(error)) from None


def adopted(port: "KubePort", targets: "Mapping[str, Target]") -> Iterator[Row]:
    """Write what is asked of each target once more, as ours, and yield that."""
    for pool, target in targets.items():
        if target.has_scale:
            address = str(target)
            seen = port.scale(address)
            port.apply_scale(address, replicas=seen.replicas, version=seen.version)
            yield {"pool": pool, "target": address, "pods": seen.replicas}


def tell_adopted(pools: Iterable[Row], *, as_json: bool) -> None:
    """Say each as soon as it is done, or all of them as one list."""
    if as_json:
        tables.print_json(list(pools))
        return
    for each in pools:
        pods = "1 pod" if each["pods"] == 1 else f"{each['pods']:,} pods"
        typer.echo(formats.printable(f"{each['pool']}: {each['target']} keeps its {pods}"))


def _cluster(namespace: str, kubeconfig: str | None) -> "KubePort":
    from fairlead_autoscaler.kube import client
    from fairlead_autoscaler.kube.adapter import Cluster, Names

    way, found = client.load(kubeconfig)
    names = Names(
        namespace=namespace or found,
        pods="",
        targets={},
        status="",
        lease="",
        identity="fairlead autoscaler adopt",
    )
    return Cluster(way, names)


def _lines(row: Row) -> Row:
    """Return a decision as lines for people."""
    decision = pod_counts.decision(row)
    counts = cast("Mapping[str, int]", decision.get("pods", {}))
    limits = cast("Mapping[str, float]", decision.get("limits", {}))
    slots = cast("Mapping[str, float]", decision.get("slots", {}))
    estimates = cast("Mapping[str, float]", decision.get("estimates", {}))
    conditions = cast("list[Mapping[str, str]]", decision.get("conditions", []))
    return {
        "pool": row["pool"],
        "decided": f"{pod_counts.since(row)} ago",
        "pods": ", ".join(f"{count} {name}" for name, count in counts.items() if count),
        "why": f"{decision['reason']}: {decision['message']}",
        "bounds": ", ".join(f"{name} {_short(value)}" for name, value in limits.items()),
        "slots asked for": ", ".join(f"{term} {_short(ask)}" for term, ask in slots.items()),
        "limited by": ", ".join(cast("list[str]", decision.get("limitedBy", []))),
        "forbidden by": ", ".join(cast("list[str]", decision.get("forbiddenBy", []))),
        "estimates": ", ".join(f"{name} {_short(said)}" for name, said in estimates.items()),
        "demand": _age(decision.get("demandAgeSeconds")),
        "conditions": "\n".join(
            f"{each['type']} {each['status']}"
            + (f" ({each['reason']}: {each['message']})" if each["message"] else "")
            for each in conditions
        ),
    }


def _age(seconds: object) -> str:
    if seconds is None:
        return "the scheduler has never said what the pool needs"
    return f"said {_short(cast('float', seconds))} s before"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
