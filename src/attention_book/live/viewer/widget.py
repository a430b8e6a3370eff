"""The viewers as widgets of Jupyter, JupyterLab, VS Code and Colab, by anywidget."""

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


class BeamsWidget(AnyWidget):
    """What the reader chooses can be read and set: ``widget.width`` and so on."""

    _esm = bundle.esm("beams")
    _css = bundle.styles()
    data = traitlets.Dict().tag(sync=True)
    language = traitlets.Unicode().tag(sync=True)
    width = traitlets.Int(2).tag(sync=True)
    penalty = traitlets.Float(0.0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)


class InductionWidget(AnyWidget):
    """What the reader chooses can be read and set: ``widget.text``, ``widget.cut`` and so on."""

    _esm = bundle.esm("induction")
    _css = bundle.styles()
    data = traitlets.Dict().tag(sync=True)
    language = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    at = traitlets.Int(0).tag(sync=True)
    cut = traitlets.Unicode("0").tag(sync=True)


#: The widget of each viewer, by the name of its module of JavaScript.
WIDGETS = {"heads": HeadsWidget, "beams": BeamsWidget, "induction": InductionWidget}

__all__ = ["WIDGETS"]
