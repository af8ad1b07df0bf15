"""What is said of a pool's decision: for the status, the database and the command line."""

from collections.abc import Mapping
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler import fleet
from fairlead_autoscaler.decision import Decision
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.reasons import Term
from fairlead_autoscaler.words import SENTENCES

Said = dict[str, object]


def said(decision: Decision, inputs: Inputs, config: Autoscale) -> Said:
    """Return a decision in words and numbers, as JSON and YAML can hold them.

    Args:
        decision: What was decided.
        inputs: What it was made from.
        config: What the policy says of the pool.
    """
    return {
        "reason": decision.reason.value,
        "says": SENTENCES[decision.reason],
        "underlying": decision.underlying.value,
        "pods": counts(decision, inputs),
        "limits": {
            "min": config.min,
            "max": config.max,
            "objectiveSeconds": config.objective.total_seconds(),
        },
        "slots": slots(decision),
        "limited": [each.value for each in decision.limited],
        "forbidden": [each.value for each in decision.forbidden],
        "estimates": estimates(decision, inputs),
        "demandAgeSeconds": demand_age_seconds(inputs),
        "conditions": conditions(decision),
    }


def counts(decision: Decision, inputs: Inputs) -> dict[str, int]:
    """Return how many pods do what."""
    here = fleet.of(inputs)
    asked = inputs.deployment.replicas
    return {
        "asked": asked,
        "next": asked if decision.scale is None else decision.scale,
        "desired": decision.replicas,
        "recommended": decision.recommended,
        "ready": sum(each.pod.ready for each in here.members),
        "starting": len(here.starting),
        "draining": sum(each.is_marked(inputs.now) for each in here.members),
        "terminating": here.terminating,
        "unschedulable": sum(pod.unschedulable for pod in inputs.pods),
    }


def slots(decision: Decision) -> dict[str, float]:
    """Return what each term asks for; empty: nobody knows what the pool needs."""
    if decision.wanted is None:
        return {}
    terms = (Term.STEADY, Term.DRAIN, Term.SCHEDULED, Term.RUNNING)
    return {term.value: round(decision.wanted.of(term), 3) for term in terms}


def estimates(decision: Decision, inputs: Inputs) -> dict[str, float]:
    """Return what was learned: arrivals a second, and how long jobs and starts take."""
    rates, demand = decision.state.rates, inputs.demand
    found = {"startSeconds": decision.start_seconds}
    if rates is not None:
        found["arrivalsPerSecond"] = rates.ahead(0)
    if demand is not None:
        found["serviceSeconds"] = demand.service_mean
    return {name: round(value, 3) for name, value in found.items()}


def demand_age_seconds(inputs: Inputs) -> float | None:
    """Return how old the scheduler's word is; None: there never was one."""
    if inputs.demand is None:
        return None
    return round((inputs.now - inputs.demand.at).total_seconds(), 1)


def conditions(decision: Decision) -> list[Said]:
    """Return the pool's conditions as Kubernetes writes such."""
    return [
        {
            "type": each.condition.value,
            "status": "True" if each.status else "False",
            "reason": "AsExpected" if each.reason is None else each.reason.value,
            "message": "" if each.reason is None else SENTENCES[each.reason],
            "lastTransitionTime": _time(each.since),
        }
        for each in decision.conditions
    ]


def absent(pool: str, deployment: str | None) -> Said:
    """Return what is said of a pool of the policy that there is no Deployment for."""
    fix = (
        "add it to the release's workerPools, or take `autoscale` from the pool"
        if deployment is None
        else "install it, or take the pool from the release's workerPools"
    )
    named = "no Deployment" if deployment is None else f"no Deployment {deployment}"
    message = f"the pool {pool!r} has {named} here: {fix}"
    return {
        "reason": "NoDeployment",
        "says": message,
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "NoDeployment", "message": message}
        ],
    }


def document(pools: Mapping[str, Said], policy: Said) -> Said:
    """Return the whole of what the status ConfigMap says."""
    return {"policy": policy, "pools": dict(sorted(pools.items()))}


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
