"""Settings of the project; the environment says which database, and what tests change."""

import json
import os

import django
from psycopg.conninfo import conninfo_to_dict

_where = conninfo_to_dict(os.environ["FAIRLEAD_DATABASE_URL"])
_change = json.loads(os.environ.get("SITE_SETTINGS", "{}"))

SECRET_KEY = "of a test"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "tests.support.django_site.urls"
USE_TZ = _change.get("USE_TZ", True)
TIME_ZONE = "Europe/Berlin"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    *([] if django.VERSION >= (6, 0) else ["django_tasks"]),
    "fairlead.django",
    "tests.support.django_site.shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": {
        "ENGINE": _change.get("ENGINE", "django.db.backends.postgresql"),
        "NAME": _change.get("NAME", _where.get("dbname", "")),
        "USER": _where.get("user", ""),
        "PASSWORD": _where.get("password", ""),
        "HOST": _where.get("host", ""),
        "PORT": _where.get("port", ""),
    }
}
TASKS = {
    "default": {
        "BACKEND": "fairlead.django.backend.FairleadBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": _change.get("OPTIONS", {}),
    }
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
