"""Which files `fairlead dev --reload` watches."""

from pathlib import Path

import pytest

from fairlead_cli.dev import reload
from fairlead_cli.dev.fleet import Fleet
from fairlead_cli.dev.reload import Reload, folders, is_watched
from fairlead_cli.main import run
from tests.support.waiting import until


@pytest.mark.parametrize(
    ("file", "watched"),
    [
        ("shop/jobs.py", True),
        ("jobs.py", True),
        ("shop/jobs.pyc", False),
        ("README.md", False),
        (".venv/lib/jobs.py", False),
        ("env/lib/python3.12/site-packages/shop/jobs.py", False),
        (".fairlead/postgres/jobs.py", False),
        ("web/node_modules/gyp/jobs.py", False),
    ],
)
def test_python_files_count_outside_of_hidden_and_foreign_folders(
    file: str, *, watched: bool
) -> None:
    """Hidden is what is so below the watched folder, which may be in a hidden one itself."""
    project = Path("/home/.work/shop")

    assert watched == is_watched(project / file, [project])


def test_a_file_beside_the_folders_does_not_count() -> None:
    """A watcher may tell of the folder around a file that is watched."""
    assert not is_watched(Path("/srv/jobs.py"), [Path("/srv/shop")])


def test_folders_of_the_search_path_count_unless_they_are_inside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that is not there."""
    (tmp_path / "project/inside").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    monkeypatch.setenv("PYTHONPATH", f"inside:../beside::{tmp_path}/nowhere")

    found = folders(tmp_path / "project")

    assert (tmp_path / "beside", tmp_path / "project") == found


def test_a_save_right_after_the_start_is_seen(tmp_path: Path) -> None:
    """Setting up the watching takes a while, in which a worker may load what is old then."""
    said: list[str] = []
    fleet = Fleet(environment={}, say=lambda _name, _line: None, folder=tmp_path)
    with Reload(fleet, [tmp_path], lambda _name, line: said.append(line)) as reloading:
        (tmp_path / "jobs.py").write_text("saved")

        def seen() -> bool:
            reloading.look()
            return bool(said)

        until(seen, what="the save", seconds=20)

    assert ["jobs.py was saved: the workers start anew"] == said


def test_without_the_extra_it_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence says what to install."""
    monkeypatch.setattr(reload, "find_spec", {"watchfiles": None}.get)

    code = run(["dev", "--app", "shop:tasks", "--reload"])

    said = capsys.readouterr().err
    assert (2, 1) == (code, len(said.splitlines()))
    assert "'--reload': watchfiles is not installed: pip install 'fairlead[dev]'" in said
