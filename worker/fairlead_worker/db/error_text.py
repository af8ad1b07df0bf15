"""What the database says of an error, in one line for logs and for a job's error."""

import psycopg


def one_line(error: psycopg.Error) -> str:
    """Return the message without its context: the text of the function in which it arose."""
    said, context = str(error), error.diag.context
    if context:
        said = said.partition(context)[0].rpartition("\n")[0]
    return " ".join(said.split())
