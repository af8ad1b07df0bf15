"""What the autoscaler says beside a fleet of local processes."""

from fairlead.dev.scaling import Lines


def test_a_line_of_the_log_is_said_once_it_is_whole() -> None:
    """However it comes; nothing is said for what ends it."""
    said: list[tuple[str, str]] = []
    lines = Lines("autoscaler", lambda name, line: said.append((name, line)))

    for text in ("pool.", "scaled", "\n", "pool.decided\npod.", "marked\n"):
        print(text, end="", file=lines)

    assert [
        ("autoscaler", "pool.scaled"),
        ("autoscaler", "pool.decided"),
        ("autoscaler", "pod.marked"),
    ] == said
