"""The report generator's pages: order a report, see how far it is, cancel it, read it."""

from datetime import date

from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

import fairlead
from reports.jobs import last_month
from reports.jobs import order as order_report
from reports.models import Report

LISTED = """
    SELECT r.*, CASE WHEN r.content = '' THEN s.state ELSE 'done' END AS state,
        coalesce(s.progress, 0) AS progress, s.error,
        s.state IN ('scheduled', 'pending', 'queued', 'running') AS may_be_cancelled
    FROM reports_report r LEFT JOIN LATERAL (
        SELECT state, progress, error FROM fairlead.job_status WHERE id = r.id) s ON true
    WHERE r.customer = %s ORDER BY r.id DESC LIMIT 20
"""


@require_POST
def order(request: HttpRequest, customer: str) -> HttpResponse:
    """Order a report."""
    try:
        order_report(customer, date.fromisoformat(request.GET["month"]))
    except fairlead.OverBacklog as error:
        return HttpResponse(str(error), status=429)
    return redirect("listed", customer)


@require_POST
def cancel(_request: HttpRequest, customer: str, report: int) -> HttpResponse:
    """Cancel a report that waits, or ask the one who builds it to stop."""
    get_object_or_404(Report, id=report, customer=customer)
    fairlead.cancel(connection, report)
    return redirect("listed", customer)


def read(_request: HttpRequest, customer: str, report: int) -> HttpResponse:
    """Return a report that is done."""
    found = get_object_or_404(Report, id=report, customer=customer)
    if not found.content:
        raise Http404
    return HttpResponse(found.content, content_type="text/plain")


def listed(request: HttpRequest, customer: str) -> HttpResponse:
    """List the newest reports, with a button for each that can be cancelled."""
    reports = Report.objects.raw(LISTED, [customer])
    shown = {"customer": customer, "reports": reports, "month": last_month()}
    return render(request, "list.html", shown)
