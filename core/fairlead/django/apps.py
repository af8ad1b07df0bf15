"""The app of the admin pages, for INSTALLED_APPS: `fairlead.django`."""

from django.apps import AppConfig


class FairleadConfig(AppConfig):
    """Its models are Fairlead's tables and views, so that it has no migrations."""

    name = "fairlead.django"
    label = "fairlead"
    verbose_name = "Fairlead"
    default_auto_field = "django.db.models.BigAutoField"
