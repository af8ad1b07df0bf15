"""The files that a page shows."""

from tests.support.page_files import files


def test_the_snippets_of_a_page_are_sorted_into_files() -> None:
    """By the comment at the top; without one a snippet goes on where the last one ended."""
    blocks = ("python\n# a.py\n1", "python\n2", "sh\nno", "python\n# b/c.py\n3")
    page = "text\n".join(f"```{block}\n```\n" for block in blocks)

    assert {"a.py": "# a.py\n1\n\n\n2\n\n\n", "b/c.py": "# b/c.py\n3\n\n\n"} == files(page)
