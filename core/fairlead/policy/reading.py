"""Read a policy from its document, or refuse it with one sentence."""

from collections.abc import Iterable

from pydantic import ValidationError

from fairlead.policy import document
from fairlead.policy.document import Document, Path, Unreadable
from fairlead.policy.globs import covered
from fairlead.policy.kinds import cut
from fairlead.policy.models import Policy
from fairlead.policy.refusal import PolicyRefused, field, refusal, refused

DOCUMENT_BYTES_MAX = 256 * 1024


def parse(text: str) -> Policy:
    """Read a policy document: the whole of it, or nothing.

    Raises:
        PolicyRefused: one sentence with the field, its value and the fix.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise PolicyRefused("the document is no valid Unicode: save it as UTF-8") from None
    if size > DOCUMENT_BYTES_MAX:
        bound = f"{DOCUMENT_BYTES_MAX:,}"
        raise PolicyRefused(
            f"the document has {size:,} bytes, more than {bound}: leave some out"
        )
    try:
        found = document.read(text)
    except Unreadable as error:
        line = "" if error.line is None else f" (line {error.line})"
        where = f"{field(error.path)}: " if error.path else "the document "
        raise PolicyRefused(f"{where}{error}{line}") from None
    try:
        policy = Policy.model_validate(found.value)
    except ValidationError as error:
        raise refusal(error, found) from None
    _refuse_dead_rules(policy, found)
    _refuse_unknown_bands(policy, found)
    return policy


def _refuse_unknown_bands(policy: Policy, found: Document) -> None:
    """Refuse a queue in a band that there is not."""
    names = [band.name for band in policy.bands]
    for place, rule in enumerate(policy.queues):
        if rule.band is not None and rule.band not in names:
            there = f"there are {cut(', '.join(names))}" if names else "give bands"
            said = f"there is no band '{cut(rule.band)}': {there}"
            raise refused(("queues", place, "band"), said, found)


def _refuse_dead_rules(policy: Policy, found: Document) -> None:
    """Refuse a rule of which an earlier one leaves nothing: its fields would do nothing."""
    dead = _dead(("queues",), "queue", (rule.match.queue for rule in policy.queues))
    for place, rule in enumerate(policy.queues):
        overrides = rule.tenants.overrides
        if dead is None and overrides:
            patterns = (
                each.match.tenant if each.match.tenant_label is None else None
                for each in overrides
            )
            dead = _dead(("queues", place, "tenants", "overrides"), "tenant", patterns)
    if dead is not None:
        raise refused(*dead, found)


def _dead(rules: Path, name: str, patterns: Iterable[str | None]) -> tuple[Path, str] | None:
    """Return the first rule whose pattern an earlier one covers for certain, and the sentence.

    None stands for a rule that does more than match by name.
    """
    found = covered(patterns)
    if found is None:
        return None
    said = (
        f"'{cut(found.pattern)}' is matched by {field((*rules, found.first))} already, and the "
        "first match counts: put the narrower rule first, or leave one out"
    )
    return (*rules, found.place, "match", name), said
