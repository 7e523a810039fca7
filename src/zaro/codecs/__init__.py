"""From stored bytes to values: the chain, and who decodes each step."""
