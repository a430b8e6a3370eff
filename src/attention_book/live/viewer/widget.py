"""The viewer as a widget of Jupyter, JupyterLab, VS Code and Colab, by anywidget."""

from attention_book.foundations.environment import from_extra
from attention_book.live import bundle

with from_extra("viewer", "anywidget"):
    import traitlets
    from anywidget import AnyWidget


class HeadsWidget(AnyWidget):
    """What the reader chooses can be read and set: ``widget.layer``, ``widget.head`` and so on."""

    _esm = bundle.esm("heads")
    _css = bundle.styles()
    data = traitlets.Dict().tag(sync=True)
    language = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int(1).tag(sync=True)
    head = traitlets.Int(1).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    key = traitlets.Int(0).tag(sync=True)
    threshold = traitlets.Float(0.0).tag(sync=True)


__all__ = ["HeadsWidget"]
