"""Fairlead in a Django project: a backend for Django's tasks, their worker, and admin pages.

In go tasks that are enqueued and pages that are asked for, out come jobs, results and lists,
all over Django's own connection. It rests on the core and on Django, and nothing of Fairlead
imports it. Begin with `backend` (enqueue, results) and `worker` (what runs tasks); `framework`
says whose tasks they are, `admin` has the pages, and `listing` what they have in common.
"""

from importlib.util import find_spec

if find_spec("django") is None:
    raise ImportError(
        "fairlead.django needs Django, which is not installed: pip install 'django>=5.1,<7'"
    )

from fairlead.django.context import as_tenant, current_job, current_tenant
from fairlead.django.handler_settings import HandlerSettings, handler_settings

__all__ = ("HandlerSettings", "as_tenant", "current_job", "current_tenant", "handler_settings")
