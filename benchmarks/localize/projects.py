"""The projects whose functions are made faulty: what to fetch, and how their tests run quickly and always alike."""

from __future__ import annotations

from dataclasses import dataclass

_HYPOTHESIS = ("-p", "hypothesispytest", "--hypothesis-profile=ci")  # the profile without chance and database

_PACKAGING = (
    *(
        "markers",
        "utils",
        "tags",
        "metadata",
        "ranges",
        "dependency_groups",
        "direct_url",
        "pylock",
        "licenses",
    ),
    *("manylinux", "musllinux"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A pinned source distribution.

    :ivar sha256: of the sdist.
    :ivar sources: the folder or module with the code under test, relative to the root.
    :ivar tests: pytest's arguments; what is slow, measures time, draws lots or is red anyway is left out.
    :ivar path: the folder to import from, relative to the root.
    :ivar requires: what the tests need beyond pytest.
    :ivar deselect: ids of tests, and files, that are red or flaky in this release without a fault.
    """

    name: str
    version: str
    sha256: str
    sources: str
    tests: tuple[str, ...]
    path: str = "."
    requires: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The name of the folder in the sdist."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def arguments(self) -> list[str]:
        """Pytest's arguments, without the tests that do not count."""
        left_out = [f"--{'deselect' if '::' in one else 'ignore'}={one}" for one in self.deselect]
        return [*self.tests, *left_out]

    def is_source(self, file: str) -> bool:
        """Whether a file (relative to the root) is code under test, not tests that are shipped with it."""
        inside = file == self.sources or file.startswith(f"{self.sources}/")
        return inside and file.endswith(".py") and {"test", "tests"}.isdisjoint(file.split("/"))


def _unless(*words: str) -> tuple[str, ...]:
    return "-k", " and ".join(f"not ({word})" for word in words)


PROJECTS = (
    Project(
        name="more-itertools",
        version="11.2.1",
        sha256="cbf08fd0af284dc69718b9b76a8e6203df624d70209ea511e4219d350c856f63",
        sources="more_itertools",
        tests=(
            "tests",
            *_unless("test_primes", "oncurrent", "nth_prime", "TimeLimited", "CallbackIter", "lcg"),
            *(
                "--deselect=tests/test_recipes.py::TestRandomDerangement",
                "--deselect=tests/test_more.py::SampleTests",
            ),
            "--deselect=tests/test_more.py::ExtractTests::test_all_orderings",
            "--deselect=tests/test_more.py::DiscreteFourierTransformTests::test_roundtrip",
            "--deselect=tests/test_recipes.py::PolynomialFromRootsTests::test_large",
        ),
    ),
    Project(
        name="pyparsing",
        version="3.3.3",
        sha256="928ae7e20211f3b6f3915a72f06a0cfd29ab9d24279dd6346b6b1a7146397d36",
        sources="pyparsing",
        tests=(
            *("tests/test_simple_unit.py", "tests/test_util.py", "tests/test_unit.py"),
            *_unless("andom", "testUpcaseDowncaseUnicode", "Packrat and not WithoutPackrat", "LeftRecursion"),
        ),
    ),
    Project(
        name="packaging",
        version="26.3",
        sha256="94edc256424af38762eb31306eed28beb9f0efc50a8837492c9d6fd6004aed79",
        sources="src/packaging",
        path="src",
        tests=tuple(f"tests/test_{name}.py" for name in _PACKAGING),
        requires=("tomli_w", "pretend"),
    ),
    Project(
        name="h11",
        version="0.16.0",
        sha256="4e35b956cf45792e4caa5885e69fba00bdbc6ffafbfa020300e549b208ee5ff1",
        sources="h11",
        tests=("h11/tests", "--deselect=h11/tests/test_against_stdlib_http.py"),
    ),
    Project(
        name="structlog",
        version="26.1.0",
        sha256="f63a716cbd1b1291cf7661de7794b455acfa4c43c5bcf1630e6ad5ddc1adb3b7",
        sources="src/structlog",
        path="src",
        tests=("tests", "--ignore=tests/test_packaging.py", "-p", "asyncio"),
        requires=("pytest-asyncio", "time-machine", "freezegun", "pretend"),
    ),
    Project(
        name="mistune",
        version="3.4.0",
        sha256="2eaf7952af928ca8d33b779762effc1da517b62c6ad85ec8ca957e3b07b9782a",
        sources="src/mistune",
        path="src",
        tests=(
            *("tests", "--ignore=tests/test_inline_limits.py"),
            *_unless("linear", "quickly", "quadratic", "redos", "recurse"),
        ),
    ),
    Project(
        name="natsort",
        version="8.4.0",
        sha256="45312c4a0e5507593da193dedd04abb1469253b601ecaf63445ad80f0a1ea581",
        sources="natsort",
        tests=(
            *("tests", "-p", "pytest_mock", *_HYPOTHESIS),
            *(
                f"--ignore=tests/test_{n}_factory.py"
                for n in ("string_component_transform", "final_data_transform")
            ),
            *(f"--ignore=tests/test_parse_{n}_function.py" for n in ("string", "number")),
            *_unless("locale", "humansorted", "thousands", "os_sorted_corpus"),
        ),
        requires=("hypothesis", "pytest-mock"),
    ),
    Project(
        name="xmltodict",
        version="1.0.4",
        sha256="6d94c9f834dd9e44514162799d344d815a3a4faec913717a9ecbfa5be1bb8e61",
        sources="xmltodict.py",
        tests=("tests", *_unless("memory_usage")),
    ),
    Project(
        name="sqlparse",
        version="0.6.1",
        sha256="ca722573f848ff2d30e40ea30f53a104b7dea7635ea9285891263eb2c58fb6e7",
        sources="sqlparse",
        tests=("tests",),
    ),
    Project(
        name="cachetools",
        version="8.0.1",
        sha256="deb1d376d4d28c2f33f3e3058043b005e0af75c35c094bd54053e27d2906ad95",
        sources="src/cachetools",
        path="src",
        tests=("tests", *_unless("hreading", "stampede", "concurren")),
    ),
    Project(
        name="tomlkit",
        version="0.15.2",
        sha256="83e32755ba1d20d9340bd069ee97e9f6232ba2346b63ffcba425de01f7e327a6",
        sources="tomlkit",
        tests=("tests",),
    ),
)
BY_NAME = {project.name: project for project in PROJECTS}
