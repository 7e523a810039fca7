"""`python -m zaro.cli`."""

import sys

from zaro.cli.run import main

if __name__ == "__main__":
    sys.exit(main())
