"""The migrations, forward only: `NNNN_expand_<noun>.sql` and `NNNN_contract_<noun>.sql`."""
