"""A Django project for tests: a shop with tasks, and the admin pages.

Django can be set up once in a process, so tests run its programs in processes of their own.
"""
