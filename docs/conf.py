"""Settings of the site; `tools/build_site.py` lays its pages out and builds it, as `make docs` does."""

import hetsched

project = "hetsched"
author = "hetsched contributors"
release = version = hetsched.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Anchors of headings as forges make them, so that links lead to the same places in both.
myst_heading_anchors = 6

# In docstrings, one back quote is a name: of something documented, or plain.
default_role = "py:obj"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
autodoc_use_type_comments = False
python_maximum_signature_line_length = 100

# `dummy` reads all and writes nothing.
smartquotes_excludes = {"builders": ["dummy"]}

html_theme = "furo"
html_title = f"hetsched {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
