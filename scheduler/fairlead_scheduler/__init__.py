"""The scheduler: moves pending jobs into the work queue in fair order."""
