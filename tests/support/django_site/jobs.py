"""What workers run."""

import os

import fairlead
from fairlead.django.worker import get_tasks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.django_site.settings")

tasks = get_tasks(name="site", timeout=20)


@tasks.handler("own")
def own(job: fairlead.Job) -> str:
    """Run beside Django's tasks."""
    return f"own {job.id}"
