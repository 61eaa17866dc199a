"""Put the prompt that the program writes for the example into the README, or check that it is the one.

python tools/readme.py            write it
python tools/readme.py --check    exit 1 where the README shows something else

It takes Python 3.12 or newer: an older one cannot tell which functions the tests call.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SELECTED = tuple(
    f"tests/test_{name}.py" for name in ("pricing", "customers", "cart", "catalog", "money", "tax")
)
BLOCK = re.compile(r"(<!-- prompt:begin -->\n).*?(<!-- prompt:end -->)", re.DOTALL)


def main(arguments):
    """Write or check; the exit code is the answer."""
    if sys.version_info < (3, 12):
        return "the prompt in the README is that of Python 3.12 or newer"
    text = README.read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda found: found[1] + fenced(prompt()) + found[2], text)
    if "--check" in arguments:
        return 0 if fresh == text else "README.md shows another prompt: run python tools/readme.py"
    README.write_text(fresh, encoding="utf-8")
    return 0


def prompt():
    """What the program writes for some of the example's test files, in a copy."""
    with tempfile.TemporaryDirectory() as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(ROOT / "examples" / "shop", shop, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        command = [sys.executable, "-m", "pytest", "--loop-close", "-q", *SELECTED]
        subprocess.run(command, cwd=shop, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (shop / "nextprompt.md").read_text(encoding="utf-8")


def fenced(text):
    """The prompt as a block of markdown, its own fences inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}markdown\n{text}{fence}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
