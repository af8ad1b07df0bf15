"""The command `fairlead` and `python -m fairlead_cli`: `main`, if its extra is installed."""

from fairlead.runtime import extras


def main() -> None:
    """Run the command of this process's arguments; exit 2 with one sentence when it cannot."""
    extras.require("cli")
    from fairlead_cli.main import main as program

    program()


if __name__ == "__main__":
    main()
