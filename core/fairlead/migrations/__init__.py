"""The schema's migrations, forward only: `NNNN_expand_<noun>.sql`, `NNNN_contract_<noun>.sql`."""
