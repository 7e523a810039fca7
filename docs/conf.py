"""How Sphinx builds these pages: `sphinx-build -W -j auto docs build/docs`.

Every code cell is executed, in a folder with the archive of `zaro demo`; an error in one ends the build.
Nothing is fetched: no inventories of other projects, no assets from afar.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from zaro import demo

project = "zaro"
author = "the zaro developers"
project_copyright = "the zaro developers"
release = version = metadata.version("zaro")

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "conda", "vectors"]
nitpicky = False

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "html_image"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_render_markdown_format = "gfm"
nb_mime_priority_overrides = [("html", "text/html", 10)]

autodoc_typehints = "none"  # signatures show them; the docstrings say what they mean
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = f"zaro {release.partition('+')[0]}"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _make_data() -> Path:
    """The archive that pages read: written once, found by every kernel through the environment."""
    folder = Path(tempfile.mkdtemp(prefix="zaro-docs-"))
    atexit.register(_remove, folder, os.getpid())
    (folder / "zaro-demo").mkdir()
    demo.make_references(demo.make_dataset(folder / "zaro-demo"), folder / "zaro-demo" / "refs.json")
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not each of its children
        shutil.rmtree(folder, ignore_errors=True)


if "ZARO_DOCS_DATA" not in os.environ:
    os.environ["ZARO_DOCS_DATA"] = str(_make_data())
os.environ["ZARO_DOCS"] = str(Path(__file__).parent)
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
os.environ["TTY_COMPATIBLE"] = "0"  # commands draw no progress bars into pages
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"


def _drop_text_of_modules(
    _app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    if what == "module":  # it is Markdown, and the page around it says the same
        lines.clear()


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _drop_text_of_modules, priority=1)
