"""The report generator's jobs: one builds a report, one orders all of them every month."""

import os
from datetime import date, timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
django.setup()

from django.db import connection, transaction  # noqa: E402 - models need the settings first
from django.db.models import Sum  # noqa: E402 - it follows the settings
from django.utils import timezone  # noqa: E402 - it follows the settings

import fairlead  # noqa: E402 - it follows the settings
from reports.models import Report, Sale  # noqa: E402 - it follows the settings

tasks = fairlead.Tasks(name="reports")


def last_month() -> date:
    """Return its first day."""
    return (timezone.now().date().replace(day=1) - timedelta(days=1)).replace(day=1)


@tasks.handler("report", queue="reports", timeout=300, max_attempts=5)
def build(job: fairlead.Job, month: date) -> None:
    """Sum up each shop. The report and the job's end are one commit."""
    lines: list[str] = []
    sales = Sale.objects.filter(customer=job.tenant)
    shops = sales.order_by("shop").values_list("shop", flat=True).distinct()
    for done, shop in enumerate(shops, start=1):
        job.raise_if_cancelled()
        sold = sales.filter(shop=shop, day__year=month.year, day__month=month.month)
        cents = sold.aggregate(sum=Sum("cents"))["sum"] or 0
        lines.append(f"{shop}: {cents / 100:.2f}")
        job.progress(done / len(shops), shop)
    with transaction.atomic(), connection.cursor() as cursor:
        Report.objects.filter(id=job.id).update(content="\n".join(lines))
        job.complete(cursor)


@tasks.cron("0 3 1 * *", timezone="Europe/Berlin")
@tasks.handler
def order_all(job: fairlead.Job) -> None:
    """Order last month's report for every customer: all of them, once."""
    with transaction.atomic(), connection.cursor() as cursor:
        for customer in Sale.objects.values_list("customer", flat=True).distinct():
            order(customer, last_month())
        job.complete(cursor)


@transaction.atomic
def order(customer: str, month: date) -> None:
    """Add a report and the job that builds it: both, or neither."""
    job = build.using(tenant=customer).enqueue(connection, month)
    Report.objects.create(id=job, customer=customer, month=month)
