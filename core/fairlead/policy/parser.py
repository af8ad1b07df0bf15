"""Parse a policy document, or refuse it with one sentence."""

from collections.abc import Iterable

from pydantic import ValidationError

from fairlead.policy import document
from fairlead.policy.document import Document, Path, Unreadable
from fairlead.policy.globs import covered
from fairlead.policy.models import Policy
from fairlead.policy.refusal import PolicyRefused, field, refusal, refused
from fairlead.policy.value_types import shortened

DOCUMENT_BYTES_MAX = 256 * 1024


def parse(text: str) -> Policy:
    """Parse a policy document.

    Raises:
        PolicyRefused: with one sentence that names the field, its value and the fix.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise PolicyRefused("the document is not valid Unicode: save it as UTF-8") from None
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
        raise PolicyRefused(f"{where}{error}{line}", error.line) from None
    try:
        policy = Policy.model_validate(found.value)
    except ValidationError as error:
        raise refusal(error, found) from None
    _refuse_dead_rules(policy, found)
    _refuse_unknown_bands(policy, found)
    return policy


def _refuse_unknown_bands(policy: Policy, found: Document) -> None:
    """Refuse a queue whose band does not exist."""
    names = [band.name for band in policy.bands]
    for place, rule in enumerate(policy.queues):
        if rule.band is not None and rule.band not in names:
            there = f"there are {shortened(', '.join(names))}" if names else "give bands"
            message = f"there is no band '{shortened(rule.band)}': {there}"
            raise refused(("queues", place, "band"), message, found)


def _refuse_dead_rules(policy: Policy, found: Document) -> None:
    """Refuse an entry that an earlier one covers: it could never apply."""
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
    """Return the first entry whose pattern an earlier one certainly covers, and the sentence.

    A pattern of None stands for an entry that matches by more than a name.
    """
    found = covered(patterns)
    if found is None:
        return None
    message = (
        f"'{shortened(found.pattern)}' is matched by {field((*rules, found.first))} already, "
        "and the first match counts: put the narrower rule first, or leave one out"
    )
    return (*rules, found.place, "match", name), message
