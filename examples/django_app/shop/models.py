"""The shop's own table, and Fairlead's as far as the shop uses it.

`NewJob` lists the columns that this application sets. The others have defaults in the database,
and an application may read nothing but `id`, so none of its fields has a `db_default`.
"""

from django.db import models, transaction


class Order(models.Model):
    """The application's own table."""

    customer = models.TextField()
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    confirmed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"order {self.pk} of {self.customer}"


class NewJob(models.Model):
    """A row of fairlead.jobs; `fairlead migrate` makes the table."""

    id = models.BigAutoField(primary_key=True)
    kind = models.TextField()
    payload = models.JSONField(default=dict)
    tenant = models.TextField(default="")
    dedup_key = models.TextField(null=True)  # noqa: DJ001 - null is no key, "" is not allowed

    class Meta:
        """Django neither makes nor changes it; the quotes put it into its schema."""

        managed = False
        db_table = '"fairlead"."jobs"'

    def __str__(self) -> str:
        return f"new job of kind {self.kind}"


def place_order(customer: str, amount: str) -> Order:
    """Insert an order and the job that confirms it: both, or neither."""
    with transaction.atomic():
        order = Order.objects.create(customer=customer, amount=amount)
        NewJob.objects.create(
            kind="confirm_order", payload={"order": order.pk}, tenant=customer
        )
    return order


def confirm_again(order: Order) -> None:
    """Ask for a confirmation unless one is asked for already."""
    wanted = NewJob(
        kind="confirm_order",
        payload={"order": order.pk},
        tenant=order.customer,
        dedup_key=f"confirm:{order.pk}",
    )
    NewJob.objects.bulk_create([wanted], ignore_conflicts=True)
