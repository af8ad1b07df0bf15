"""Whether a service's login has the role that it needs, and who has to do what if not.

A service waits for what becomes right by itself, such as a schema that is being installed. That
a login is no member of its role only a person changes.
"""

from dataclasses import dataclass
from typing import Final

from fairlead.db import statements
from fairlead.db.connect import Connection


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and the function that its role may call and that it cannot do without."""

    name: str
    function: str

    @property
    def role(self) -> str:
        """The role of its logins."""
        return f"fairlead_{self.name}"


WORKER: Final = Service("worker", "claim")
SCHEDULER: Final = Service("scheduler", "_acquire_leadership")
AUTOSCALER: Final = Service("autoscaler", "_begin_autoscaler_epoch")


class RoleMissing(Exception):
    """The login has not the role of its service; the message is one sentence for people."""


def lacking(connection: Connection, service: Service) -> str | None:
    """Return what a service's login has to wait for; None: nothing, or there is no schema.

    The schema may be any: its version is another question.

    Raises:
        RoleMissing: a person has to grant the role.
        psycopg.Error: the session is broken.
    """
    values = {"role": service.role, "function": service.function}
    row = connection.execute(statements.load("fairlead", "service_rights"), values).fetchone()
    if row is None:
        return None
    login, may, is_member, inherits = row
    if may is not False:
        return None
    if not is_member or not inherits:
        how = "does not inherit the rights of" if is_member else "is no member of"
        raise RoleMissing(
            f"the login {login} {how} {service.role}, the role of a {service.name}: run "
            f"`fairlead roles grant {login} --as {service.name}`, or give the {service.name} "
            "the URL of a login that has it"
        )
    return (
        f"the role {service.role} has not been given its rights, which `fairlead migrate` does "
        "last"
    )
