"""The application's lifespan in one process, and the handlers with what is around them.

`process_lifespan` enters it before the first job and leaves it after the last one. Everything
else is decided in `fairlead.lifecycle`, and handlers are wrapped before the first claim, so the
way of a job through this process is the same with it and without.
"""
