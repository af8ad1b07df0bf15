"""A server that takes TLS, and certificates for it: right ones and wrong ones, by openssl."""

import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from fairlead.db.migrate import migrate
from fairlead_cli.dev.binaries import installed
from fairlead_cli.dev.postgres import Server
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.waiting import until

OPENSSL = shutil.which("openssl")
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def binaries_with_tls() -> Path | None:
    """Return the programs of a PostgreSQL that was built with OpenSSL; the wheel's was not."""
    for _, folder in installed():
        if b"libssl" in (folder / "postgres").read_bytes():
            return folder
    return None


def missing() -> str | None:
    """Return what is missing for a server with TLS."""
    if OPENSSL is None:
        return "needs openssl"
    return (
        None if binaries_with_tls() else "needs a PostgreSQL with TLS (Debian: postgresql-15)"
    )


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run([OPENSSL or "openssl", *words], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path, name: str) -> Path:
    """Make an authority, and return the file of its certificate."""
    files = ("-keyout", f"{name}.key", "-out", f"{name}.crt")
    _openssl(folder, "req", "-x509", *_KEY, *files, "-days", "2", "-subj", f"/CN={name}")
    return folder / f"{name}.crt"


def make_certificate(folder: Path, name: str, *, host: str, days: int, authority: str) -> None:
    """Make a server's certificate that is good for so many days; -1: it has expired."""
    request = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
    _openssl(folder, "req", *_KEY, *request)
    (folder / "names").write_text(f"subjectAltName=DNS:{host}")
    _openssl(
        folder,
        *("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", "-days", str(days)),
        *("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial"),
        *("-extfile", "names"),
    )


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A migrated server that shows one of the certificates in a folder."""

    server: Server
    certificates: Path

    def url(self, **options: str) -> str:
        """Return the URL of its database on the host `localhost`, with options of libpq."""
        plain = self.server.url.replace("@127.0.0.1", "@localhost")
        return plain + "?" + "&".join(f"{name}={value}" for name, value in options.items())

    def verified_by(self, authority: str) -> str:
        """Return the URL that accepts this authority's certificate for the host alone."""
        file = self.certificates / f"{authority}.crt"
        return self.url(sslmode="verify-full", sslrootcert=str(file))

    def show(self, name: str) -> None:
        """Show another certificate from now on."""
        data = self.server.data_dir
        owner = data.stat()
        for kind in ("key", "crt"):
            file = data / f"server.{kind}"
            shutil.copy(self.certificates / f"{name}.{kind}", file)
            file.chmod(0o600)
            shutil.chown(file, owner.st_uid, owner.st_gid)
        loaded = self._loaded_at()
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET ssl = on")
            connection.execute("SELECT pg_reload_conf()")
        until(lambda: self._loaded_at() != loaded, what="the certificate")

    def _loaded_at(self) -> object:
        with psycopg.connect(self.server.url) as connection:
            row = connection.execute("SELECT pg_conf_load_time()").fetchone()
        return row and row[0]


@contextmanager
def tls_server() -> Generator[TlsServer]:
    """Run a migrated server, at first without TLS, and with a folder for its certificates."""
    programs = binaries_with_tls()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(FAST, within=fast_folder(), bin_dir=programs) as server,
    ):
        with psycopg.connect(server.url, autocommit=True) as connection:
            migrate(connection)
        yield TlsServer(server, Path(folder))
