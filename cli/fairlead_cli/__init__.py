"""The command line, `fairlead`: thin commands over functions, views and services.

It stands above the services, may import any of them, and none imports it. Begin with `main`,
then `commands.queues`, which is short. cli/README.md maps the packages.
"""
