"""What Sphinx reads: `make docs` builds these pages into build/docs, without any network."""

import tomllib

from docs.site.navigation import HOME, ROOT, every_page

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project = "Fairlead"
release = _PROJECT["version"]
copyright = "the authors of Fairlead, Apache License 2.0"  # noqa: A001 - Sphinx's name for it

extensions = ["myst_parser", "docs.site.pages"]
source_suffix = {".md": "markdown"}
root_doc = HOME
exclude_patterns = [".*", "build", "dist"]
include_patterns = [f"{name}.md" for name in every_page()]

# Links and anchors are those of a code host, where the same pages are read.
myst_heading_anchors = 6
myst_enable_extensions = ["deflist"]

# Colours only: no lexer knows Mermaid, nor psql's commands in SQL.
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]

templates_path = ["templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"Fairlead {release}"
html_favicon = "../images/icon.svg"
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
html_sidebars = {"**": ["groups.html"]}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": html_title},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
