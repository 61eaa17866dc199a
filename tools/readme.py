"""Put into README and docs what the program says: the prompt for the example, its picture, and the settings.

python tools/readme.py            write all of them
python tools/readme.py --check    exit 1 where one of them is not what the program says

It needs Python 3.12 or newer, which reports the functions that tests call, and rich, which draws the picture.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "settings.md"
PICTURE = ROOT / "docs" / "terminal.svg"
SELECTED = tuple(f"tests/test_{name}.py" for name in ("customers", "cart", "catalog", "money", "tax"))
BLOCK = re.compile(r"(<!-- prompt:begin -->\n).*?(<!-- prompt:end -->)", re.DOTALL)
SETTINGS = re.compile(r"(<!-- settings:begin -->\n).*?(<!-- settings:end -->)", re.DOTALL)
WIDTH = 104
# Of the process that runs this: an environment of tox, and CI, would show in the command of the prompt.
LEFT_OUT = (
    "PYTEST_",
    "COV_",
    "CI",
    "GITHUB_",
    "GITLAB_",
    "BUILD",
    "TOX_ENV_NAME",
    "NOX_CURRENT_SESSION",
    "HATCH_ENV_ACTIVE",
)
# The parts of rich's picture, without the fonts that it would fetch from the network.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
 line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def main(arguments):
    """Write or check; the exit code is the answer."""
    if sys.version_info < (3, 12):
        return "the prompt in the README is that of Python 3.12 or newer"
    prompt, terminal = run()
    text = README.read_text(encoding="utf-8")
    fresh = {
        README: BLOCK.sub(lambda found: found[1] + fenced(prompt) + found[2], text),
        PAGE: with_settings(PAGE.read_text(encoding="utf-8")),
        PICTURE: picture(terminal),
    }
    old = [path for path, new in fresh.items() if path.read_text(encoding="utf-8") != new]
    if "--check" in arguments:
        named = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
        return f"out of date: {named}: run python tools/readme.py" if old else 0
    for path in old:
        path.write_text(fresh[path], encoding="utf-8")
    return 0


def with_settings(text):
    """The page with a row for each setting, from its declaration."""
    from dataclasses import fields

    from loop_close.settings import DECLARED, Settings, option_of

    rows = ["| setting | option | meaning |", "|---|---|---|"]
    for field in fields(Settings):
        declared = DECLARED[field.name]
        option = f"{option_of(field.name)} {declared.metavar}" if declared.metavar else ""
        # The option shows the values of a setting that has but a few.
        is_shown = declared.metavar and "|".join(re.findall("'(.*?)'", declared.takes)) == declared.metavar
        values = [] if is_shown else [declared.takes]
        if isinstance(field.default, str | int) and field.default:
            values.append(f"default `{field.default}`")
        cells = [
            f"`{field.name}`",
            f"`{option}`" if option else "",
            f"{declared.meaning} ({'; '.join(values)})",
        ]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return SETTINGS.sub(lambda found: found[1] + "\n".join(rows) + "\n" + found[2], text)


def run():
    """What the program writes for some of the example's test files, in a copy: the prompt, and what is printed."""
    with tempfile.TemporaryDirectory() as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(ROOT / "examples" / "shop", shop, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--loop-close",
            "-q",
            "--tb=line",
            "--color=yes",
            *SELECTED,
        ]
        done = subprocess.run(
            command,
            cwd=shop,
            env={**kept, "COLUMNS": str(WIDTH)},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        printed = done.stdout.decode().replace(f"{shop}/", "")
        prompt = (shop / "nextprompt.md").read_text(encoding="utf-8")
        return prompt, re.sub(r"in \d+\.\d+s", "in 0.42s", printed)


def picture(terminal):
    """The terminal as SVG, the same for the same text."""
    from rich.console import Console
    from rich.text import Text

    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="standard"
        )
        console.print(Text(f"$ pytest --loop-close -q --tb=line {SELECTED[0]} …"))
        console.print(Text.from_ansi(terminal.rstrip("\n")))
        return console.export_svg(title="pytest --loop-close", code_format=SVG, unique_id="loop-close")


def fenced(text):
    """The prompt as a block of markdown, its own fences inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}markdown\n{text}{fence}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
