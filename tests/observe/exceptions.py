"""Queries of dashboards that need more than a fleet on one machine, and what they need."""

WITHOUT_DATA: dict[tuple[str, str, str], str] = {
    ("autoscaler.json", "Writes that were refused", "A"): "somebody else changes a Deployment",
}
"""Of each (dashboard's file, panel's title, query's letter) why it has no data here."""
