"""Settings of the shop: one database, which Fairlead shares."""

import os

import django
import psycopg

_where = psycopg.conninfo.conninfo_to_dict(os.environ["FAIRLEAD_DATABASE_URL"])

SECRET_KEY = "of an example"
DEBUG = True
ROOT_URLCONF = "urls"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    *([] if django.VERSION >= (6, 0) else ["django_tasks"]),
    "fairlead.django",
    "shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
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
STATIC_URL = "static/"
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
TASKS = {"default": {"BACKEND": "fairlead.django.backend.FairleadBackend"}}
