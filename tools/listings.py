"""Write what makes loop-close findable and installable elsewhere, from what the program itself says.

python tools/listings.py                            write all of them
python tools/listings.py --check                    exit 1 where one of them is out of date
python tools/listings.py --repository OWNER/NAME    for a release: name the server after the repository

- `.claude-plugin/marketplace.json` and `plugin/`: the plugin for Claude Code and Copilot CLI. Its hooks are those of
  `loop-close install --host claude`, except that they are silent where loop-close is not installed.
- `server.json`: the entry of the registry of MCP servers. For that the README on PyPI has to have the same name.

With a repository, also `README.md` and `pyproject.toml` as they are published, as on PyPI relative links lead nowhere,
and the homepage in `recipe/recipe.yaml`, which conda-forge asks for.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

from loop_close.cli.install import added
from loop_close.hosts import command_line, host_named

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PYPROJECT = ROOT / "pyproject.toml"
RECIPE = ROOT / "recipe" / "recipe.yaml"
#: A plugin is on for all projects of a user, and loop-close is not in all of them.
GUARD = "command -v loop-close >/dev/null 2>&1 || exit 0; exec "
NAME = "loop-close"
#: Until a repository publishes it: no name below these can be registered (RFC 6761).
NOWHERE = "invalid.loop-close"
NO_ADDRESS = "https://loop-close.invalid"
MCP_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
#: How the README says to install the project until it is published.
FROM_CLONE = re.compile(r"pip install path/to/a/clone/of/loop-close +# not on PyPI yet")
#: Blocks of code, and links to a file of the repository.
CODE = re.compile(r"(^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^][]*)\]\((?P<path>(?!https?:|mailto:|#)[^)\s]+)\)")
MCP_NAME = re.compile(r"\n<!-- mcp-name: \S+ -->\n\Z")


def main(arguments):
    """Write or check; the exit code is the answer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--repository", type=repository, metavar="OWNER/NAME")
    options = parser.parse_args(arguments)
    texts = {ROOT / name: text for name, text in listings(options.repository).items()}
    if options.repository:
        readme = published(README.read_text(encoding="utf-8"), options.repository)
        texts[README] = with_name(readme, namespace(options.repository))
        texts[RECIPE] = with_homepage(RECIPE.read_text(encoding="utf-8"), options.repository)
        texts[PYPROJECT] = with_urls(PYPROJECT.read_text(encoding="utf-8"), options.repository)
    if options.check:
        old = [
            path for path, text in texts.items() if not path.is_file() or path.read_bytes() != text.encode()
        ]
        named = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
        return f"out of date: {named}: run python tools/listings.py" if old else 0
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return 0


def repository(text):
    """A repository of GitHub, as its Actions name it."""
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/NAME")
    return text


def listings(repository=None):
    """The texts of the files, by their paths."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = {
        "name": NAME,
        "version": project["version"],
        "description": "Keeps the agent at work until its checks are green or it is stuck; names the file to read.",
        "author": project["authors"][0],
        "license": project["license"],
        "keywords": project["keywords"],
    }
    marketplace = {
        "name": NAME,
        "description": project["description"],
        "owner": project["authors"][0],
        "plugins": [{"name": NAME, "source": "./plugin", "description": plugin["description"]}],
    }
    documents = {
        ".claude-plugin/marketplace.json": marketplace,
        "plugin/.claude-plugin/plugin.json": plugin,
        "plugin/hooks/hooks.json": hooks(),
        "server.json": server(project, repository),
    }
    return {name: json.dumps(document, indent=2) + "\n" for name, document in documents.items()}


def hooks():
    """The hooks that `install` writes for Claude Code, each silent where loop-close is not installed."""
    ours = command_line("claude")
    return json.loads(added(host_named("claude"), "").replace(ours, f"{GUARD}{ours}"))


def server(project, repository):
    """The server for the registry: uv runs it from PyPI, with the package that the extra `mcp` names."""
    (extra,) = project["optional-dependencies"]["mcp"]
    package = {
        "registryType": "pypi",
        "registryBaseUrl": "https://pypi.org",
        "identifier": project["name"],
        "version": project["version"],
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "runtimeArguments": [{"type": "named", "name": "--with", "value": extra}],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
    }
    document = {
        "$schema": MCP_SCHEMA,
        "name": namespace(repository),
        "title": NAME,
        "description": "Runs a project's checks and answers with the next prompt and whether the work is done.",
        "version": project["version"],
        "packages": [package],
    }
    if repository:
        document["repository"] = {"url": f"https://github.com/{repository}", "source": "github"}
    return document


def namespace(repository):
    """The name of the server: below the owner of the repository, whom the registry lets publish it."""
    return f"io.github.{repository.split('/')[0]}/{NAME}" if repository else f"{NOWHERE}/{NAME}"


def with_name(readme, name):
    """The README with the name of the server in a comment at its end, by which the registry knows the package."""
    return f"{MCP_NAME.sub('', readme).rstrip()}\n\n<!-- mcp-name: {name} -->\n"


def published(readme, repository):
    """The README for PyPI: it installs from there, and its links lead to the files of this version on GitHub."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    at = f"{repository}/{{}}v{project['version']}"

    def absolute(link):
        page = f"https://github.com/{at.format('blob/')}"
        base = f"https://raw.githubusercontent.com/{at.format('')}" if link["image"] else page
        return f"{link['image']}[{link['text']}]({base}/{link['path']})"

    readme = FROM_CLONE.sub(f"pip install {project['name']}", readme)
    parts, at_code = [], 0
    for block in CODE.finditer(readme):
        parts += [LINK.sub(absolute, readme[at_code : block.start()]), block[0]]
        at_code = block.end()
    return "".join([*parts, LINK.sub(absolute, readme[at_code:])])


def with_urls(pyproject, repository):
    """The metadata of the project with its addresses."""
    return pyproject.replace(NO_ADDRESS, f"https://github.com/{repository}")


def with_homepage(recipe, repository):
    """The recipe with the address of the project."""
    if "\n  homepage: " in recipe:
        return recipe
    return recipe.replace("\nabout:\n", f"\nabout:\n  homepage: https://github.com/{repository}\n", 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
