"""The command `zaro`: what a shell needs of the library, and nothing but translation.

Each command is two functions (what is typed, what is done) and one row of the table in `run`; a command
that reads a target takes the options of the library (`--storage-options` and its kin) by `reads_target`.
"""

from zaro.cli.arguments import parse_selection
from zaro.cli.run import main

__all__ = ["main", "parse_selection"]
