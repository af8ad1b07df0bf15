"""What the shop's workers run, for `--app shop.jobs:tasks`: Django's tasks, and a handler."""

import os

from fairlead.django.worker import get_tasks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
tasks = get_tasks()

from django.db import connection, transaction  # noqa: E402 - models need the settings first
from django.utils import timezone  # noqa: E402 - it follows the settings

import fairlead  # noqa: E402 - it follows the settings
from shop.models import Order  # noqa: E402 - it follows the settings


@tasks.handler("confirm_order", timeout=30)
def confirm_order(job: fairlead.Job[dict[str, int]]) -> None:
    """Confirm an order, and finish the job with the same commit."""
    with transaction.atomic(), connection.cursor() as cursor:
        order = Order.objects.select_for_update().get(pk=job.payload["order"])
        order.confirmed_at = timezone.now()
        order.save(update_fields=["confirmed_at"])
        job.complete(cursor, {"confirmed": order.pk})
