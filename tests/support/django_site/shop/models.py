"""What the tasks write."""

from django.db import models


class Note(models.Model):
    """Something that a task has seen."""

    text: "models.TextField[str, str]" = models.TextField()

    class Meta:
        """Its name is short, for the tests' SQL."""

        app_label = "shop"
        db_table = "notes"

    def __str__(self) -> str:
        return self.text
