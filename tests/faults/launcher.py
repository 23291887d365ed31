"""The launcher with a fault: `python launcher.py SCENARIO`, and with a mere probe as agent if `--probe` follows."""

import sys

import inside  # noqa: F401 - registers its scenarios
import probe
import scenarios  # noqa: F401
from fault import named

from gonogo.launch import local

if __name__ == "__main__":
    if "--probe" in sys.argv:
        probe.install()
    sys.exit(local.main(named(sys.argv[1])))
