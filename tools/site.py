"""A hook of MkDocs: the site has the pages, and all that they link to, at the paths of the repository.

So one link is right on the site and in a clone. A link to a folder leads to its README, or to a list of its files.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parent.parent
START = ("README.md", "CONTRIBUTING.md")
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
LEFT_OUT = ("__pycache__", ".")


def on_files(files, config):
    """The files of the site, in place of those of `docs` alone."""
    found = {}
    open_names = [*START, *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/*.md")))]
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        path = ROOT / name
        if path.name == "index.md" and not path.exists():
            below = listed(path.parent)
            text = "\n".join(
                [f"# {path.parent.relative_to(ROOT).as_posix()}", "", *map("- [{0}]({0})".format, below)]
            )
            found[name] = File.generated(config, name, content=f"{text}\n")
            open_names += [f"{Path(name).parent.as_posix()}/{each}" for each in below]
            continue
        if not path.is_file():
            continue  # MkDocs says which link is dead
        found[name] = File(
            name,
            str(ROOT),
            config.site_dir,
            config.use_directory_urls,
            inclusion=InclusionLevel.INCLUDED,  # also one whose name begins with a dot
        )
        if path.suffix == ".md":
            open_names += [normal(name, link) for link in LINK.findall(path.read_text(encoding="utf-8"))]
    of_theme = [each for each in files if each.src_dir != config.docs_dir]
    return Files([*of_theme, *(found[name] for name in sorted(found))])


def on_page_markdown(markdown, page, config, files):
    """The page with links to the pages of folders in place of folders."""
    folder = os.path.dirname(page.file.src_uri)
    return LINK.sub(lambda link: os.path.relpath(normal(page.file.src_uri, link[1]), folder or "."), markdown)


def normal(page, link):
    """The path that a link of a page leads to, from the root: for a folder its README, or the list of its files."""
    path = Path(os.path.normpath(ROOT / os.path.dirname(page) / link))
    if path.is_dir():
        path /= "README.md" if (path / "README.md").is_file() else "index.md"
    return path.relative_to(ROOT).as_posix()


def listed(folder):
    """The files below a folder, by their paths from there."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return [path.as_posix() for path in paths if not any(part.startswith(LEFT_OUT) for part in path.parts)]
