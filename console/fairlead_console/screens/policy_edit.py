"""The policy's editor: a draft, what is wrong with it, and what it would replace."""

from dataclasses import dataclass
from datetime import UTC, datetime

from fairlead import policy_storage
from fairlead.db.connect import Connection
from fairlead.inspection import formats, policy_names
from fairlead.inspection.policy_source import PolicySource, policy_source
from fairlead.policy import Policy, PolicyRefused, digest, find_warnings, parse
from fairlead.runtime import extras
from fairlead_console.pages import differences, drafts
from fairlead_console.pages.drafts import Draft
from fairlead_console.screens.source import Source


@dataclass(frozen=True, slots=True)
class Wrong:
    """What a check refuses."""

    said: str
    """As `fairlead policy check` says it."""
    around: tuple[drafts.Numbered, ...]
    """The line, with those near it; none where the whole document is meant."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check says of a policy."""

    said: str
    warnings: tuple[str, ...]
    differs: tuple[differences.Line, ...]
    """From the document that it would replace."""
    is_same: bool
    """Whether it says the same, whatever its text is."""


@dataclass(frozen=True, slots=True)
class EditPage:
    """What the page of a draft shows."""

    draft: Draft
    over: policy_storage.Version | None
    """What it would replace: the version in force, or a newer one that is about to be."""
    is_in_force: bool
    newest: policy_storage.Version | None
    """The version that was stored last, which a leader may have refused."""
    source: PolicySource
    result: Wrong | Checked | None
    """None: it was not checked."""
    now: datetime

    @property
    def rows(self) -> int:
        """How many lines the text is to have room for."""
        return self.draft.document.count("\n") + 3

    @property
    def is_stale(self) -> bool:
        """Whether a version was stored that its author has not seen."""
        return (self.newest.version if self.newest else 0) != self.draft.base


def begin(source: Source, back_to: int | None) -> EditPage | None:
    """Return the page of a new draft: of what there is, or of an old version, which is checked.

    None: there is no such version.
    """
    with source.reads.one() as session:
        newest = policy_storage.newest(session)
        first = policy_storage.followed(session)
        if back_to is not None:
            first = policy_storage.numbered(session, back_to)
            if first is None:
                return None
        draft = Draft(
            document=first.document if first else "",
            base=newest.version if newest else 0,
            back_to=back_to,
        )
        return _page(session, draft, newest, is_checked=back_to is not None)


def check(source: Source, draft: Draft) -> EditPage:
    """Return the page of a draft that was checked."""
    with source.reads.one() as session:
        return _page(session, draft, policy_storage.newest(session), is_checked=True)


def reason(source: Source, draft: Draft) -> str:
    """Return why it is stored, for the history: as `fairlead policy rollback` says it."""
    if draft.back_to is None:
        return draft.reason
    with source.reads.one() as session:
        first = policy_storage.numbered(session, draft.back_to)
    is_it = first is not None and first.document.splitlines() == draft.document.splitlines()
    return f"rollback to version {draft.back_to}: {draft.reason}" if is_it else draft.reason


def _page(
    session: Connection,
    draft: Draft,
    newest: policy_storage.Version | None,
    *,
    is_checked: bool,
) -> EditPage:
    over = policy_storage.followed(session)
    force = policy_storage.in_force(session)
    return EditPage(
        draft=draft,
        over=over,
        is_in_force=over is not None and over == force,
        newest=newest,
        source=policy_source(session),
        result=_checked(session, draft.document, over) if is_checked else None,
        now=datetime.now(UTC),
    )


def _checked(
    session: Connection, document: str, over: policy_storage.Version | None
) -> Wrong | Checked:
    try:
        found = parse(document)
    except PolicyRefused as error:
        return Wrong(formats.printable(str(error)), drafts.around(document, error.line))
    except ModuleNotFoundError as error:
        return Wrong(extras.sentence(error) or str(error), ())
    said = digest(found)
    warnings = (formats.printable(each) for each in find_warnings(found))
    return Checked(
        said=_counted(found, said),
        warnings=(*warnings, *policy_names.unknown(session, found)),
        differs=differences.between(over.document if over else "", document),
        is_same=over is not None and over.digest == said,
    )


def _counted(found: Policy, named: str) -> str:
    overrides = sum(len(rule.tenants.overrides) for rule in found.queues)
    return (
        f"Digest {named}, queue rules {len(found.queues)}, tenant overrides "
        f"{overrides}, rules {len(found.rules)}, bands {len(found.bands)}."
    )
