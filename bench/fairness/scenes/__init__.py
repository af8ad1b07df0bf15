"""The scenes: workloads whose fleet is disturbed, or asked, while it runs on PostgreSQL.

In: a server, a workload with the name of a scene, its trace and the seed. Out: rows of figures,
and those with targets.

`scene` is the form of a scene and `registry` has them by name; every other module is one scene,
with a function `play`. Imports `postgres`, `results`, `contenders` and `traffic`. Begin with
`registry.scene`.
"""
