"""The shop's tasks: Django's own, which Fairlead's workers run."""

import django

from fairlead.django import handler_settings
from shop.models import Order

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


@task(priority=-10)
@handler_settings(timeout=30)
def send_receipt(order_id: int) -> dict[str, str]:
    """Write to the customer."""
    order = Order.objects.get(pk=order_id)
    return {"receipt": f"{order.amount} from {order.customer}"}
