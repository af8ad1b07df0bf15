"""The page on Django: its code is a project that works, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import django
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import tree

pytestmark = pytest.mark.any_server

_PAGE = Path("docs/how-to/django.md")
_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SETTINGS = """
import os
import django
import psycopg

_where = psycopg.conninfo.conninfo_to_dict(os.environ["FAIRLEAD_DATABASE_URL"])
SECRET_KEY = "of a page"
ALLOWED_HOSTS = ["acme.localhost"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MIDDLEWARE = ["shop.middleware.tenant_middleware"]
INSTALLED_APPS = ["shop"] + ([] if django.VERSION >= (6, 0) else ["django_tasks"])
DATABASES = {"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": _where["dbname"], "USER": _where["user"],
    "HOST": _where["host"], "PORT": _where["port"], "TEST": {"NAME": _where["dbname"]},
}}
"""
_MODELS = """
from django.db import models

class Order(models.Model):
    customer = models.TextField()
    confirmed = models.BooleanField(default=False)
"""
_PROGRAM = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
from mysite.jobs import tasks
import fairlead.testing
from django.http import HttpRequest
from django.core.management import call_command
from shop.middleware import tenant_middleware
from shop.models import Order
from shop.reports import report
from shop.tasks import confirm
from shop.views import place_order

call_command("migrate", run_syncdb=True, verbosity=0)
request = HttpRequest()
request.META["HTTP_HOST"] = "acme.localhost"
placed = tenant_middleware(lambda _: place_order("alice"))(request)
print(dict(fairlead.testing.drain(tasks, os.environ["FAIRLEAD_DATABASE_URL"]).counts))
result = confirm.get_result(placed)
print(result.status, result.return_value, [each.confirmed for each in Order.objects.all()])
print(report.call(2))
"""


def project(folder: Path) -> None:
    """Write the project of the page; before Django 6 with the import that the page names."""
    files = {"mysite/settings.py": _SETTINGS, "shop/models.py": _MODELS}
    for language, block in _BLOCK.findall(tree.text(_PAGE)):
        if language == "python":
            name = block.partition("\n")[0].removeprefix("# ")
            code = (
                block
                if django.VERSION >= (6, 0)
                else block.replace("from django.tasks import", "from django_tasks import")
            )
            files[name] = files.get(name, "") + code
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()


def python(folder: Path, url: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in the project."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{tree.SOURCES}",
            "FAIRLEAD_DATABASE_URL": url,
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_code_of_the_page_is_a_project(
    tmp_path: Path, database_url: str, db: Connection[TupleRow]
) -> None:
    """An order of a request is confirmed by its tenant's task, and its test passes."""
    project(tmp_path)

    done = python(tmp_path, database_url, "-c", _PROGRAM)

    assert [
        "{'succeeded': 1}",
        "SUCCESSFUL {'confirmed': 1} [True]",
        "None",
    ] == done.stdout.splitlines(), done.stderr
    assert [("acme",)] == db.execute("SELECT tenant FROM fairlead.job_history").fetchall()
    tested = python(
        tmp_path,
        database_url,
        *("-m", "django", "test", "--keepdb", "--settings", "mysite.settings"),
    )
    assert "Ran 1 test" in tested.stderr, tested.stderr
    assert 0 == tested.returncode, tested.stderr


def test_the_sql_of_the_page_runs(db: Connection[TupleRow]) -> None:
    """A schedule names a task."""
    for language, block in _BLOCK.findall(tree.text(_PAGE)):
        if language == "sql":
            db.execute(block.encode())

    assert [("shop.tasks.confirm",)] == db.execute(
        "SELECT kind FROM fairlead.schedules"
    ).fetchall()
