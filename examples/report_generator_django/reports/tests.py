"""The report generator's own tests: `python manage.py test`."""

from datetime import date

import psycopg
from django.db import connection
from django.test import TestCase
from django.test.runner import DiscoverRunner

import fairlead
from fairlead import testing
from fairlead.db.migrate import migrate
from reports.jobs import last_month, tasks
from reports.models import Report, Sale

OCTOBER = date(2026, 10, 1)


class Runner(DiscoverRunner):
    """Installs Fairlead's schema in the database that Django makes for tests."""

    def setup_databases(self, **settings: object) -> object:
        """Make the databases."""
        made = super().setup_databases(**settings)
        parameters = connection.get_connection_params()
        parameters.pop("cursor_factory")
        with psycopg.connect(**parameters, autocommit=True) as own:
            migrate(own)
        return made


class Reports(TestCase):
    """One customer with two shops."""

    def setUp(self) -> None:
        """Sell something."""
        for shop, day in (("Bern", date(2026, 10, 31)), ("Basel", date(2026, 11, 1))):
            Sale.objects.create(customer="acme", shop=shop, day=day, cents=990)

    def drain(self) -> dict[str, int]:
        """Run what is ordered, and return how many attempts ended how."""
        return {**testing.drain(tasks, connection.connection).counts}

    def test_a_report_is_ordered_built_and_read(self) -> None:
        """Each shop has what it sold in that month."""
        page = self.client.post("/acme/reports?month=2026-10-01", follow=True)
        (job,) = testing.enqueued(connection.connection, "report", tenant="acme")
        self.assertContains(page, f'action="reports/{job.id}/cancel"')

        self.assertEqual({"succeeded": 1}, self.drain())

        self.assertContains(
            self.client.get("/acme/"), f'<a href="reports/{job.id}">October 2026'
        )
        self.assertEqual(
            b"Basel: 0.00\nBern: 9.90", self.client.get(f"/acme/reports/{job.id}").content
        )

    def test_a_report_that_waits_is_cancelled(self) -> None:
        """Its job will not run, and nobody else can cancel it."""
        self.client.post("/acme/reports?month=2026-10-01")
        (job,) = testing.enqueued(connection.connection, "report")
        self.assertEqual(404, self.client.post(f"/globex/reports/{job.id}/cancel").status_code)

        page = self.client.post(f"/acme/reports/{job.id}/cancel", follow=True)

        self.assertContains(page, "October 2026: cancelled")
        self.assertEqual({}, self.drain())
        self.assertEqual(404, self.client.get(f"/acme/reports/{job.id}").status_code)

    def test_a_report_says_how_far_it_is_and_stops_when_asked(self) -> None:
        """After each shop."""
        recorder, stopped = testing.AttemptRecorder(), testing.AttemptRecorder(cancelled=True)
        payload = {"month": OCTOBER.isoformat()}

        testing.run(tasks, "report", payload, tenant="acme", recorder=recorder)
        with self.assertRaises(fairlead.Cancelled):
            testing.run(tasks, "report", payload, tenant="acme", recorder=stopped)

        self.assertEqual(((0.5, "Basel"), (1.0, "Bern")), recorder.progress)
        self.assertEqual((), stopped.progress)

    def test_all_reports_are_ordered_every_month(self) -> None:
        """For each customer, as jobs of theirs."""
        Sale.objects.create(customer="globex", shop="Ulm", day=OCTOBER, cents=1)
        fairlead.enqueue(connection, "order_all")

        self.assertEqual({"succeeded": 3}, self.drain())

        rows = Report.objects.order_by("customer").values_list("customer", "month")
        self.assertEqual([(name, last_month()) for name in ("acme", "globex")], [*rows])
