"""Sphinx: the pages of this folder, the executed gallery of examples, and the API."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

import graphdict

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
mpl.use("Agg")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # examples are small: threads would only cost

project = "graphdict"
author = "The graphdict developers"
copyright = author
version = release = graphdict.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "repository_links",
]
exclude_patterns = ["build", "figures", "images"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
highlight_language = "none"  # what is indented is a formula or a message
nitpick_ignore_regex = [
    ("py:mod", r"graphdict\..*"),  # modules have no pages of their own
    ("py:.*", r"sklearn\..*"),  # nor is anything fetched to link to
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say in words what is taken and returned
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # without links from words of prose

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "capture_repr": (),
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("graphdict",),
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reference_url": {"graphdict": None},
    "image_srcset": ["2x"],
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "graphdict"
html_static_path = ["_static"]
html_css_files = ["graphdict.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "start": []}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "graphdict"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {
        "*": ["page-toc"],
        "generated/*": ["page-toc"],
        "gallery/*": [],  # room for code
    },
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
