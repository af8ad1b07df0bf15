"""Why a connection that had to be encrypted and verified was not made, with the fix.

libpq says `certificate verify failed` of an expired certificate and of one that an unknown
authority has signed. The reason comes from a second look at the server's certificate.
"""

import contextlib
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from socket import create_connection

import psycopg

_OTHER_NAME = re.compile(
    r'server certificate for (?P<names>"[^"]*"(?: \(and \d+ other names?\))?) '
    r'does not match host name (?P<host>"[^"]*")'
)
_SSL_REQUEST = struct.pack("!II", 8, 80877103)
_WILLING = b"S"
_PORT = "5432"


def explain(error: psycopg.Error, seconds: float) -> str | None:
    """Return the sentence for a refusal of TLS; None: the error is about something else.

    Args:
        error: Of an attempt to connect.
        seconds: How long the second look may take.
    """
    said = str(error)
    options = _options(error)
    authority = options.get("sslrootcert") or str(Path.home() / ".postgresql/root.crt")
    other = _OTHER_NAME.search(said)
    if other is not None:
        return (
            f"the database's certificate is for {other['names']} and not for the host "
            f"{other['host']}: connect by a name that it has, or have one made for this host"
        )
    if "certificate verify failed" in said:
        return _of_the_certificate(_verdict(options, authority, seconds), authority)
    if "root certificate file" in said and "does not exist" in said:
        return (
            f"the file of the authority that the database's certificate is checked against "
            f"does not exist: put it at {authority}, or name another in sslrootcert"
        )
    if "server does not support SSL" in said:
        return "the database offers no TLS, and sslmode demands it: set ssl = on in the server"
    return None


def _of_the_certificate(verdict: str, authority: str) -> str:
    if "expired" in verdict:
        return (
            "the database's certificate, or its authority's, has expired: renew it on the "
            "server and reload that"
        )
    if "not yet valid" in verdict:
        return "the database's certificate is not valid yet: set the clocks of both machines"
    because = f" ({verdict})" if verdict else ""
    return (
        f"the database's certificate is not signed by the authority in {authority}{because}: "
        "put the certificate of the authority that signed it there, or name its file in "
        "sslrootcert; if it should be, another server answers"
    )


def _options(error: psycopg.Error) -> Mapping[str, str]:
    """Return how the connection was attempted, libpq's variables and defaults included."""
    with contextlib.suppress(psycopg.Error, AttributeError):
        return {
            option.keyword.decode(): option.val.decode()
            for option in (error.pgconn.info if error.pgconn else ())
            if option.val
        }
    return {}


def _verdict(options: Mapping[str, str], authority: str, seconds: float) -> str:
    """Return what is wrong with the server's certificate; empty: it cannot be told."""
    import ssl  # noqa: PLC0415 - a worker's parent stays small while all is well

    port = int(options.get("port", _PORT))
    for host in filter(None, (options.get("hostaddr"), options.get("host"))):
        try:
            context = ssl.create_default_context(
                cafile=None if authority == "system" else authority
            )
            context.check_hostname = False  # libpq has compared the names
            with create_connection((host, port), timeout=seconds) as plain:
                plain.sendall(_SSL_REQUEST)
                if plain.recv(1) == _WILLING:
                    context.wrap_socket(plain).close()
        except ssl.SSLCertVerificationError as refusal:
            return refusal.verify_message
        except (OSError, ValueError):
            continue
    return ""
