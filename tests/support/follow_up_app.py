"""An application whose handler enqueues a follow-up over its worker's login."""

import os

import psycopg

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("import")
def import_file(job: fairlead.Job[str]) -> None:
    """Enqueue for another tenant, in the transaction that completes the job."""
    with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
        fairlead.enqueue(connection, "thumbnail", job.payload, tenant="other")
        job.complete(connection)


@tasks.handler("thumbnail")
def thumbnail(job: fairlead.Job[str]) -> str:
    """Return what it was asked to make."""
    return job.payload
