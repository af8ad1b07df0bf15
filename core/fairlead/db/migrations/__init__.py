"""The migrations, forward only: `NNNN_expand_<noun>.sql` and `NNNN_contract_<noun>.sql`."""

import re
from importlib import resources

NAME = re.compile(r"(?P<version>\d{4})_(?P<kind>expand|contract)_(?P<noun>[a-z_]+)\.sql")


def newest() -> int:
    """Return the version of the schema that this code needs."""
    names = (NAME.fullmatch(path.name) for path in resources.files(__name__).iterdir())
    return max(int(name["version"]) for name in names if name is not None)
