"""Django's command line for the shop.

cd examples/django_app && fairlead dev --app shop.jobs:tasks

In another terminal, once FAIRLEAD_DATABASE_URL is set:

python examples/django_app/manage.py migrate --run-syncdb
python examples/django_app/manage.py place_order alice 30
python examples/django_app/manage.py createsuperuser
python examples/django_app/manage.py runserver     # http://localhost:8000/admin/ has the jobs
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
    execute_from_command_line(sys.argv)
