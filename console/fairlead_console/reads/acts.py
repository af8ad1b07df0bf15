"""What people with the role operator do, by a login of its own, in a transaction for each.

Nothing else of the console but `policy_store` can write. The functions are those that the
command line calls; the audit log has the person's name and reason, and the login as the
database knows it.
"""

from typing import Final, Literal

from fairlead.db.connect import Address, connect
from fairlead_console.reads.moments import ask

ROLE: Final = "fairlead_operator"
SETTINGS: Final = {
    "role": ROLE,
    "statement_timeout": "'5s'",
    "lock_timeout": "'2s'",
    "jit": "off",
}

Verb = Literal[
    "cancel", "retry", "set_priority", "pause", "resume", "run_schedule", "switch_schedule"
]


class Acts:
    """Does what a person asks for.

    Args:
        address: Where the database is, with a login that is a member of the role.
    """

    def __init__(self, address: Address) -> None:
        self._address = address

    def do(self, verb: Verb, values: dict[str, object], *, actor: str, reason: str) -> object:
        """Do it, and return what the function answers.

        Raises:
            Unreachable: with one sentence that says why.
            psycopg.Error: the database refused it.
        """
        session = connect(self._address, name="console", more=SETTINGS)
        try:
            with session.transaction():
                ask(session, "act_as", {"actor": actor, "reason": reason})
                (row,) = ask(session, verb, values)
        finally:
            session.close()
        return row["answer"]
