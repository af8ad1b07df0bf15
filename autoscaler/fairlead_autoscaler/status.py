"""The status of a pool: a decision as a document for ConfigMap, database and CLI."""

from collections.abc import Mapping
from datetime import datetime

from fairlead.policy.autoscale import Autoscale
from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import DemandTerm, Reason, sentence
from fairlead_autoscaler.decision.result import Decision
from fairlead_autoscaler.targets import Target

Status = dict[str, object]


def pool_status(decision: Decision, inputs: Inputs, config: Autoscale) -> Status:
    """Return a decision in words and numbers, as JSON and YAML can hold them.

    Args:
        decision: What was decided.
        inputs: What it was made from.
        config: The pool's section of the policy.
    """
    return {
        "reason": decision.reason.value,
        "message": sentence(decision.reason, decision.details),
        "underlyingReason": decision.underlying.value,
        "problem": _problem(decision),
        "pods": counts(decision, inputs),
        "limits": {
            "min": config.min,
            "max": config.max,
            "objectiveSeconds": config.objective.total_seconds(),
        },
        "slots": slots(decision),
        "limitedBy": [each.value for each in decision.limited],
        "forbiddenBy": [each.value for each in decision.forbidden],
        "estimates": estimates(decision, inputs),
        "demandAgeSeconds": demand_age_seconds(inputs),
        "conditions": conditions(decision),
    }


def counts(decision: Decision, inputs: Inputs) -> dict[str, int]:
    """Return the number of pods by state."""
    here = fleet.of(inputs)
    current = inputs.workload.replicas
    return {
        "current": current,
        "requested": current if decision.scale is None else decision.scale,
        "desired": decision.replicas,
        "recommended": decision.recommended,
        "ready": sum(each.pod.ready for each in here.members),
        "starting": len(here.starting),
        "draining": sum(each.is_marked(inputs.now) for each in here.members),
        "terminating": here.terminating,
        "unschedulable": sum(pod.unschedulable for pod in inputs.pods),
    }


def slots(decision: Decision) -> dict[str, float]:
    """Return what each term asks for; empty: the demand is unknown."""
    if decision.slot_demand is None:
        return {}
    terms = (DemandTerm.STEADY, DemandTerm.DRAIN, DemandTerm.SCHEDULED, DemandTerm.RUNNING)
    return {term.value: round(decision.slot_demand.of(term), 3) for term in terms}


def estimates(decision: Decision, inputs: Inputs) -> dict[str, float]:
    """Return the estimates: arrivals a second, and durations of jobs and of starts."""
    arrival_rate, demand = decision.state.arrival_rate, inputs.demand
    found = {"startSeconds": decision.start_seconds, "aheadSeconds": decision.ahead_seconds}
    if arrival_rate is not None:
        found["arrivalsPerSecond"] = arrival_rate.ahead(0)
    if demand is not None:
        found["serviceSeconds"] = demand.service_mean
    return {name: round(value, 3) for name, value in found.items()}


def demand_age_seconds(inputs: Inputs) -> float | None:
    """Return the age of the scheduler's demand; None: there never was one."""
    if inputs.demand is None:
        return None
    return round((inputs.now - inputs.demand.at).total_seconds(), 1)


def conditions(decision: Decision) -> list[Status]:
    """Return the pool's conditions in the form of Kubernetes."""
    return [
        {
            "type": each.condition.value,
            "status": "True" if each.status else "False",
            "reason": "AsExpected" if each.reason is None else each.reason.value,
            "message": _message(each.reason, decision),
            "lastTransitionTime": _time(each.since),
        }
        for each in decision.conditions
    ]


def missing_target(pool: str, target: Target | None) -> Status:
    """Return the status of a pool of the policy that nothing holds pods of."""
    fix = (
        "add it to the release's workerPools, or take `autoscale` from the pool"
        if target is None
        else "install it, or take the pool from the release's workerPools"
    )
    named = "no Deployment" if target is None else f"no {target.kind} {target.name}"
    message = f"the pool {pool!r} has {named} here: {fix}"
    return {
        "reason": "NoDeployment",
        "message": message,
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "NoDeployment", "message": message}
        ],
    }


def document(pools: Mapping[str, Status], policy: Status) -> Status:
    """Return the whole status ConfigMap."""
    return {"policy": policy, "pools": dict(sorted(pools.items()))}


def _problem(decision: Decision) -> str:
    """Return why pods cannot run, in a sentence; empty: nothing says so."""
    broken = Reason.PODS_CANNOT_RUN
    return sentence(broken, decision.details) if broken in decision.details else ""


def _message(reason: Reason | None, decision: Decision) -> str:
    return "" if reason is None else sentence(reason, decision.details)


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
