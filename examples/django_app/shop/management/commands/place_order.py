"""Place an order from the command line."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from fairlead.django import as_tenant
from shop.models import confirm_again, place_order
from shop.tasks import send_receipt


class Command(BaseCommand):
    """Place an order, ask twice for one more confirmation, and once for a receipt."""

    help = "Place an order."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Ask for a customer and an amount."""
        parser.add_argument("customer")
        parser.add_argument("amount")

    def handle(self, *_args: object, **options: str) -> None:
        """Place it."""
        order = place_order(options["customer"], options["amount"])
        confirm_again(order)
        confirm_again(order)
        with as_tenant(order.customer):
            send_receipt.enqueue(order.pk)
        self.stdout.write(f"order {order.pk} is placed")
