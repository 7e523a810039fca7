"""Which chunks a selection touches, and in which requests they are read."""
