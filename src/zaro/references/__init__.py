"""Which file and bytes hold each chunk? Every spelling of that table."""
