-- roll_up: sum up one package so far.
-- locks: the package's row.
-- index: roll_ups_pkey
insert into demo.roll_ups as r (package, files, lines)
select %(package)s, count(*), sum(m.lines) from demo.measurements m where m.package = %(package)s
on conflict (package) do update
set files = excluded.files, lines = excluded.lines, runs = r.runs + 1
