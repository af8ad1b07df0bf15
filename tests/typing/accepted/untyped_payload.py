"""A payload whose shape is looked at when it is read."""

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("a")
def reads(job: fairlead.Job) -> str:
    """Narrow it as any union."""
    match job.payload:
        case {"to": str(to)}:
            return to
        case [first, *_]:
            return str(first)
        case None | bool() | int() | float():
            return "a number"
        case _:
            return repr(job.payload)
