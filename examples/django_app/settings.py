"""Settings of the shop: one database, which Fairlead shares."""

import os

import psycopg

_where = psycopg.conninfo.conninfo_to_dict(os.environ["FAIRLEAD_DATABASE_URL"])

SECRET_KEY = "of an example"
INSTALLED_APPS = ["shop"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
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
