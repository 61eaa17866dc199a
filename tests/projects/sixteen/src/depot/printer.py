"""Talks to the label printer through its command."""

import subprocess
import sys

WAIT = 0.2


def status():
    """What the printer says of itself."""
    command = [sys.executable, "-c", "import time; time.sleep(30); print('ready')"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=True)
    return answer.stdout.strip()
