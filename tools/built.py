"""What a release is made of, tried out; `tox -e build` calls it.

python tools/built.py clean     remove the packages of another build from `dist`
python tools/built.py run       install the wheel in `dist` into a fresh environment, and run what it brings
python tools/built.py recipe    render the recipe for conda
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
RECIPE = ROOT / "recipe" / "recipe.yaml"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
# They would bring the clone, or another package, into the fresh environment.
LEFT_OUT = ("PYTEST_", "COV_", "PYTHON", "VIRTUAL_ENV", "TOX_")
TEST = "def test_it():\n    assert 1 == 2\n"


def main(arguments):
    """Run one of the commands; the exit code is the answer."""
    commands = {"clean": clean, "run": run, "recipe": recipe}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(__doc__)
        return 64
    return commands[arguments[0]]()


def clean():
    """Remove what an earlier build left."""
    for path in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        path.unlink()
    return 0


def run():
    """Install the wheel, and run the commands and the plugin that it brings."""
    wheels = [path.name for path in DIST.glob("*.whl")]
    if wheels != [f"pytest_loop_close-{VERSION}-py3-none-any.whl"]:
        return f"dist has not the one wheel of version {VERSION}: {wheels}"
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        project = Path(folder) / "project"
        project.mkdir()
        (project / "test_it.py").write_text(TEST, encoding="utf-8")
        expect(0, "", scripts / "python", "-m", "pip", "install", "-q", str(DIST / wheels[0]), cwd=project)
        for name in ("loop-close", "pytest-loop-close"):
            expect(0, VERSION, scripts / name, "--version", cwd=project)
        expect(0, "Rerun just the failing tests", scripts / "loop-close", "demo", cwd=project)
        expect(1, "next prompt: nextprompt.md", scripts / "pytest", "--loop-close", "-q", cwd=project)
        # a plain run is no proof: only a check is
        expect(2, "next: loop-close check", scripts / "loop-close", "status", cwd=project)
        expect(1, "# 1 test fails: AssertionError", scripts / "loop-close", "check", cwd=project)
        expect(1, "failing: tests", scripts / "loop-close", "status", cwd=project)
    return 0


def expect(code, text, program, *arguments, cwd):
    """Run a program of the fresh environment; anything but this exit code and this text ends it all."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    # as in an activated environment: `loop-close check` runs the pytest that is found first
    kept["PATH"] = os.pathsep.join([str(program.parent), kept.get("PATH", os.defpath)])
    done = subprocess.run(
        [program, *arguments], cwd=cwd, env=kept, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode != code or text not in said:
        wanted = f"exit code {code} and the text {text!r}"
        sys.exit(
            f"{program.name} {' '.join(arguments)}: exit code {done.returncode}; expected {wanted}:\n{said}"
        )


def recipe():
    """Render the recipe: one package, of the version of the project."""
    from rattler_build.stage0 import Stage0Recipe

    rendered = Stage0Recipe.from_yaml(RECIPE.read_text(encoding="utf-8")).render()
    found = [(each.recipe.package.name, each.recipe.package.version) for each in rendered]
    return 0 if found == [("pytest-loop-close", VERSION)] else f"the recipe is for {found}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
