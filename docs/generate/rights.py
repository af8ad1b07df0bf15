"""Write what each role may do with each object, from a migrated database's catalog."""

from pathlib import Path

import psycopg

PATH = Path("docs/reference/rights.md")

ROLES = (
    *("enqueue", "reader", "viewer", "worker", "operator"),
    *("scheduler", "autoscaler", "admin"),
)
"""Without the prefix `fairlead_`; each is a column of the tables."""

_HEAD = """# Rights

What each role may do with each object of the schema `fairlead`. `python -m docs.generate`
writes this page from a migrated database's catalog. An empty cell is no right at all, and what
is not here nobody but the schema's owner may use. PUBLIC has no right to anything.

Every `fairlead migrate` gives these rights and takes away all others that these roles have.
[Roles](sql.md#roles) says what each role is for, and which rows it sees.
"""
_OBJECTS = """
    SELECT CASE WHEN c.relkind = 'S' THEN 'Sequences' WHEN c.relkind = 'v' THEN 'Views'
                ELSE 'Tables' END AS kind, c.relname::text AS called, c.relowner AS owner,
           g.grantee, lower(g.privilege_type) AS may, NULL::text AS of_column, 0 AS place
    FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault(
        CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) g
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
      AND NOT (c.relispartition AND c.relname ~ '_[0-9]{8}$')
    UNION ALL
    SELECT CASE WHEN c.relkind = 'v' THEN 'Views' ELSE 'Tables' END, c.relname::text,
           c.relowner, g.grantee, lower(g.privilege_type), a.attname::text, a.attnum
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) g
    WHERE c.relnamespace = 'fairlead'::regnamespace AND NOT a.attisdropped
    UNION ALL
    SELECT 'Functions', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
           p.proowner, g.grantee, lower(g.privilege_type), NULL, 0
    FROM pg_proc p, aclexplode(p.proacl) g WHERE p.pronamespace = 'fairlead'::regnamespace
    UNION ALL
    SELECT 'Schema', n.nspname::text, n.nspowner, g.grantee, lower(g.privilege_type), NULL, 0
    FROM pg_namespace n, aclexplode(n.nspacl) g WHERE n.nspname = 'fairlead'
"""
_RIGHTS = f"""
    SELECT o.kind, o.called, replace(r.rolname, 'fairlead_', ''), o.may,
           bool_or(o.owner = o.grantee),
           array_agg(o.of_column ORDER BY o.place) FILTER (WHERE o.of_column IS NOT NULL)
    FROM ({_OBJECTS}) o JOIN pg_roles r ON r.oid = o.grantee
    WHERE r.rolname = ANY (%s)
    GROUP BY 1, 2, 3, 4
"""  # noqa: S608 - both parts are constants of this module
_KINDS = ("Schema", "Tables", "Views", "Sequences", "Functions")
_ORDER = ("select", "insert", "update", "delete", "usage", "create", "execute")

_Cells = dict[str, list[str]]


def render(url: str) -> str:
    """Return the page, from a migrated database to which the URL connects as a superuser."""
    cells: dict[str, dict[str, _Cells]] = {kind: {} for kind in _KINDS}
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(_RIGHTS, [[f"fairlead_{role}" for role in ROLES]])
        for kind, called, role, may, owns, columns in sorted(found, key=_place):
            cell = cells[kind].setdefault(called, {}).setdefault(role, [])
            words = "owns it" if owns else _words(may, columns)
            if words not in cell:
                cell.append(words)
    return "\n".join([_HEAD, *(_section(kind, rows) for kind, rows in cells.items() if rows)])


def _place(row: tuple[object, ...]) -> tuple[object, ...]:
    """Order by object, then by right; one that is not in the usual order comes last."""
    may = str(row[3])
    return row[0], row[1], row[2], _ORDER.index(may) if may in _ORDER else len(_ORDER), may


def _words(may: str, columns: list[str] | None) -> str:
    return may if columns is None else f"{may} ({', '.join(columns)})"


def _section(kind: str, rows: dict[str, _Cells]) -> str:
    lines = [("object", *ROLES), ("---",) * (1 + len(ROLES))]
    lines += [
        (f"`{called}`", *(", ".join(cells.get(role, [])) for role in ROLES))
        for called, cells in rows.items()
    ]
    return f"## {kind}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
