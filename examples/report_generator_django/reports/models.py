"""The report generator's own tables."""

from django.db import models


class Sale(models.Model):
    """What a customer's shop has sold on a day."""

    customer = models.TextField()
    shop = models.TextField()
    day = models.DateField()
    cents = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f} in {self.shop}"


class Report(models.Model):
    """A report of a month; its id is that of the job that builds it."""

    id = models.BigIntegerField(primary_key=True)
    customer = models.TextField()
    month = models.DateField()
    content = models.TextField(default="")

    class Meta:
        """The newest ones of a customer are listed."""

        indexes = (models.Index("customer", "id", name="reports_of_customer"),)

    def __str__(self) -> str:
        return f"{self.month:%B %Y}"
