"""Where the database of a project is."""

from pathlib import Path

import pytest

from fairlead_cli.dev import account, project
from fairlead_cli.dev.account import Account
from fairlead_cli.dev.binaries import PostgresError


class Outsider(Account):
    """The account of root's server, which gets into no project."""

    def reaches(self, path: Path) -> bool:
        """Tell that it does not."""
        assert path.is_dir()
        return False


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for data that belongs to no project, in place of the machine's."""
    folder = tmp_path / "state"
    monkeypatch.setattr(account, "state_dir", lambda: folder)
    monkeypatch.setattr(account, "account", lambda: Account(None, None))
    return folder


def test_it_is_in_the_project_and_git_does_not_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a person has written into the folder's .gitignore stays."""
    monkeypatch.chdir(tmp_path)

    assert not (project.data_dir(make=False).parent).exists()
    found = project.data_dir(make=True)
    ignored = tmp_path / ".fairlead/.gitignore"
    assert (tmp_path / ".fairlead/postgres", "*") == (
        found,
        ignored.read_text().splitlines()[-1],
    )
    ignored.write_text("mine")

    project.data_dir(make=True)

    assert "mine" == ignored.read_text()


def test_where_roots_server_cannot_enter_projects_it_is_outside_of_them_by_path(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one name have a folder each."""
    monkeypatch.setattr(account, "account", lambda: Outsider(65_534, 65_534))
    found: list[Path] = []
    for each in ("a/shop", "b/shop", "a/shop"):
        (tmp_path / each).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / each)
        found.append(project.data_dir(make=True))

    assert [state / "dev"] * 3 == [each.parent for each in found]
    assert found[0] == found[2] != found[1]
    assert found[0].name.startswith("shop-")
    assert [] == list((tmp_path / "a/shop").iterdir())


def test_a_working_folder_that_is_gone_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal may be in a folder that was deleted."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(PostgresError, match="working folder cannot be used"):
        project.data_dir(make=True)
