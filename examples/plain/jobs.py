"""Handlers, and every way in which one can end.

Run them with `fairlead dev --app examples.plain.jobs:tasks`. `python -m examples.plain.jobs`
makes the table that `book` writes to.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import TypedDict

import psycopg

import fairlead

tasks = fairlead.Tasks()


# --- where handlers run ---------------------------------------------------------------------


@tasks.handler("greet", timeout=30)
async def greet(job: fairlead.Job) -> dict[str, str]:
    """Run on the event loop, as many at once as there are slots, and return a result."""
    await asyncio.sleep(0.2)
    return {"said": f"hello, {job.tenant}"}


class Texts(TypedDict):
    """The payload of `count_words`."""

    texts: list[str]


@tasks.handler("count_words")
def count_words(job: fairlead.Job[Texts]) -> int:
    """Run in a thread, say how far it is, and stop when asked to."""
    words = 0
    texts = job.payload["texts"]
    for done, text in enumerate(texts, start=1):
        job.raise_if_cancelled()
        words += len(text.split())
        job.progress(done / len(texts), f"{words} words")
    return words


class Below(TypedDict):
    """The payload of `count_primes`."""

    below: int


@tasks.handler("count_primes", process=True, timeout=60)
def count_primes(job: fairlead.Job[Below]) -> int:
    """Run in a process, which may use a processor and can be killed past its timeout."""
    sieve = bytearray([0, 0]) + bytearray([1]) * (job.payload["below"] - 2)
    for number in range(2, int(len(sieve) ** 0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(sieve[number * number :: number]))
    return sum(sieve)


class Pages(TypedDict):
    """The payload of `reindex`."""

    pages: int


@tasks.handler("reindex")
async def reindex(job: fairlead.Job[Pages]) -> dict[str, int]:
    """Go on where the last attempt was: kill its worker meanwhile, or stop it."""
    begun_at = job.checkpoint_value or 0
    assert isinstance(begun_at, int)
    for page in range(begun_at, job.payload["pages"]):
        await asyncio.sleep(1)  # the work on this page, stored before the next line
        job.checkpoint(page + 1)
    return {"begun_at": begun_at}


# --- how attempts end -----------------------------------------------------------------------


class Call(TypedDict):
    """The payload of `call_webhook`."""

    url: str
    body: dict[str, object]


@tasks.handler("call_webhook", timeout=30)
def call_webhook(job: fairlead.Job[Call]) -> dict[str, int]:
    """Tell what can be tried again from what cannot.

    Any other exception, such as that of a connection that is refused, is a failure too: the
    job is tried again after the usual back-off.
    """
    url = job.payload["url"]
    if not url.startswith(("http://", "https://")):
        raise fairlead.Discard(f"{url} is no address of the web")
    request = urllib.request.Request(  # noqa: S310 - the line above lets only http pass
        url,
        data=json.dumps(job.payload["body"]).encode(),
        # The same for every attempt: the receiver can recognise a repeat.
        headers={"Content-Type": "application/json", "Idempotency-Key": str(job.id)},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - only http passed
            return {"status": answer.status}
    except urllib.error.HTTPError as error:
        with error:
            raise _ending(error) from error


def _ending(error: urllib.error.HTTPError) -> Exception:
    if error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return fairlead.Snooze(for_=float(error.headers.get("Retry-After", 60)))
    if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return fairlead.Discard(f"refused with status {error.code}")
    return fairlead.Retry(f"failed with status {error.code}", after=30)


class Booking(TypedDict):
    """The payload of `book`."""

    account: str
    cents: int


@tasks.handler("book")
def book(job: fairlead.Job[Booking]) -> None:
    """Finish the job in the transaction of its work: both are done, or neither is."""
    with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
        connection.execute(
            "INSERT INTO bookings (job_id, account, cents) VALUES (%s, %s, %s)",
            [job.id, job.payload["account"], job.payload["cents"]],
        )
        job.complete(connection, {"booked": job.payload["cents"]})


def main() -> None:
    """Make the table of the bookings."""
    with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
        connection.execute(Path(__file__).with_name("tables.sql").read_bytes())


if __name__ == "__main__":
    main()
