-- measure: store what one file holds.
-- locks: the new row.
-- index: none
insert into demo.measurements (job_id, package, path, lines, functions, classes, nodes, problem)
values (%(job_id)s, %(package)s, %(path)s, %(lines)s, %(functions)s, %(classes)s, %(nodes)s,
        %(problem)s)
