"""What `_config.yml` says, as Jupyter Book translates it, for plain Sphinx."""

from pathlib import Path

from jupyter_book.config import get_final_config

HERE = Path(__file__).parent
settings, _ = get_final_config(
    user_yaml=HERE / "_config.yml", sourcedir=HERE, cli_config={"latex_individualpages": False}
)
globals().update(settings)
external_toc_path = "_toc.yml"
