"""`fairlead autoscaler`: why a pool has as many pods as it has; and take over their number."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.cli import pods, show, words
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import Row, ask, session

if TYPE_CHECKING:
    from fairlead_autoscaler.kube.port import KubePort

app = typer.Typer(
    help="How many pods pools have, and why. Without a command: each pool's line."
)

_NONE = (
    "no decision is written down: a pool needs `autoscale` in the policy, and a "
    "`fairlead-autoscaler` or `fairlead dev` that leads"
)


def _pods(row: Row, which: str) -> str:
    found = pods.count(row, which)
    return "-" if found is None else str(found)


COLUMNS = (
    show.text("pool", "pool"),
    show.Column("pods", lambda row: _pods(row, "next"), right=True),
    show.Column("ready", lambda row: _pods(row, "ready"), right=True),
    show.Column("draining", lambda row: _pods(row, "draining"), right=True),
    show.Column("decided", pods.since, right=True),
    show.Column("reason", lambda row: str(pods.decision(row)["reason"])),
    show.Column("that is", lambda row: str(pods.decision(row)["says"])),
)


@app.callback(invoke_without_command=True)
def autoscaler(context: typer.Context, *, as_json: show.AsJson = False) -> None:
    """List pools, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        with session() as connection:
            found = ask(connection, "pool_decisions", {"pool": None})
        show.rows(found, COLUMNS, as_json=as_json, none=_NONE)
    elif as_json:
        raise Problem(
            "--json belongs behind the command: `fairlead autoscaler explain POOL --json`"
        )


@app.command("explain")
def explain(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the policy.")],
    *,
    as_json: show.AsJson = False,
) -> None:
    """Say why a pool has as many pods as it has."""
    with session() as connection:
        found = ask(connection, "pool_decisions", {"pool": pool})
        others = ask(connection, "pool_decisions", {"pool": None})
    if not found:
        names = ", ".join(str(row["pool"]) for row in others)
        known = f"the pools that are decided on are {names}" if names else _NONE
        raise Failure(f"nothing was decided for the pool {pool!r}: {known}")
    if as_json:
        show.print_json(found[0])
        return
    show.fields(_told(found[0]))


@app.command("adopt")
def adopt(
    *,
    kubeconfig: Annotated[
        str | None, typer.Option(help="How to reach the cluster; in a pod nothing is needed.")
    ] = None,
    as_json: show.AsJson = False,
) -> None:
    """Take over the number of pods of every pool as it is.

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
        raise Problem(explained(error)) from None
    if not settings.deployments:
        said = "FAIRLEAD_POOL_DEPLOYMENTS names no Deployment: run it in the autoscaler's pod"
        raise Problem(f"{said}, or set it to pool=deployment")
    try:
        tell_adopted(
            adopted(_cluster(settings.namespace, kubeconfig), settings.deployments),
            as_json=as_json,
        )
    except KubeError as error:
        raise Problem(str(error)) from None


def adopted(port: "KubePort", deployments: Mapping[str, str]) -> Iterator[Row]:
    """Write what is asked of each Deployment once more, as ours, and yield that."""
    for pool, name in deployments.items():
        seen = port.scale(name)
        port.apply_scale(name, replicas=seen.replicas, version=seen.version)
        yield {"pool": pool, "deployment": name, "pods": seen.replicas}


def tell_adopted(pools: Iterable[Row], *, as_json: bool) -> None:
    """Say each as soon as it is done, or all of them as one list."""
    if as_json:
        show.print_json(list(pools))
        return
    for each in pools:
        pods = "1 pod" if each["pods"] == 1 else f"{each['pods']:,} pods"
        typer.echo(words.printable(f"{each['pool']}: {each['deployment']} keeps its {pods}"))


def _cluster(namespace: str, kubeconfig: str | None) -> "KubePort":
    from fairlead_autoscaler.kube import client
    from fairlead_autoscaler.kube.cluster import Cluster, Names

    way, found = client.loaded(kubeconfig)
    names = Names(
        namespace=namespace or found,
        pods="",
        deployments={},
        status="",
        lease="",
        identity="fairlead autoscaler adopt",
    )
    return Cluster(way, names)


def _told(row: Row) -> Row:
    """Return a decision as lines for people."""
    decision = pods.decision(row)
    counts = cast("Mapping[str, int]", decision.get("pods", {}))
    limits = cast("Mapping[str, float]", decision.get("limits", {}))
    slots = cast("Mapping[str, float]", decision.get("slots", {}))
    estimates = cast("Mapping[str, float]", decision.get("estimates", {}))
    conditions = cast("list[Mapping[str, str]]", decision.get("conditions", []))
    return {
        "pool": row["pool"],
        "decided": f"{pods.since(row)} ago",
        "pods": ", ".join(f"{count} {name}" for name, count in counts.items() if count),
        "why": f"{decision['reason']}: {decision['says']}",
        "bounds": ", ".join(f"{name} {_short(value)}" for name, value in limits.items()),
        "slots asked for": ", ".join(f"{term} {_short(ask)}" for term, ask in slots.items()),
        "limited by": ", ".join(cast("list[str]", decision.get("limited", []))),
        "forbidden by": ", ".join(cast("list[str]", decision.get("forbidden", []))),
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
