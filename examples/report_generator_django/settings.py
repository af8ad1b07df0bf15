"""Settings of the report generator: one database, which Fairlead shares."""

import os

import psycopg

_where = psycopg.conninfo.conninfo_to_dict(os.environ["FAIRLEAD_DATABASE_URL"])

SECRET_KEY = "of an example"
DEBUG = True
INSTALLED_APPS = ["reports"]
MIDDLEWARE = ["django.middleware.csrf.CsrfViewMiddleware"]
ROOT_URLCONF = "reports.urls"
TEMPLATES = [
    {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True},
]
TEST_RUNNER = "reports.tests.Runner"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _where.get("dbname", ""),
        "USER": _where.get("user", ""),
        "PASSWORD": _where.get("password", ""),
        "HOST": _where.get("host", ""),
        "PORT": _where.get("port", ""),
    }
}
