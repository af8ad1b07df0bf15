"""Settings of the project; the environment says which database, and what tests change."""

import json
import os

import django
from psycopg.conninfo import conninfo_to_dict


def place(url: str) -> dict[str, str]:
    """Return Django's words for where a database is."""
    where = conninfo_to_dict(url)
    words = {"NAME": "dbname", "USER": "user", "PASSWORD": "password"}
    words |= {"HOST": "host", "PORT": "port"}
    return {word: str(where.get(name) or "") for word, name in words.items()}


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
        **place(os.environ["FAIRLEAD_DATABASE_URL"]),
        **({"NAME": _change["NAME"]} if "NAME" in _change else {}),
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
