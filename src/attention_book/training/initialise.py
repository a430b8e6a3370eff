"""Xavier initialization (Glorot and Bengio 2010): where a translator's weights begin."""

from typing import TypeVar

from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def xavier_(model: Module) -> Module:
    """Draw the weight matrices of all linear maps and GRUs anew, in place.

    .. math:: W \\sim U(-a, a), \\qquad a = \\sqrt{\\frac{6}{n_\\text{in} + n_\\text{out}}}

    Glorot and Bengio (2010), equation 16. Embeddings and biases stay as they are,
    and so does an output layer that is tied to an embedding. A GRU keeps the matrices of
    its three gates on top of each other, multi-head attention those of its queries, keys
    and values, and they are drawn as the one matrix that they are stored as.

    Args:
        model: Changed, and returned.

    >>> layer = xavier_(nn.Linear(3, 3, bias=False))
    >>> bool((layer.weight.abs() <= 1).all())
    True
    """
    embeddings = {
        id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)
    }
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.GRU | nn.GRUCell):
            for name, parameter in module.named_parameters(recurse=False):
                if name.startswith("weight") and id(parameter) not in embeddings:
                    nn.init.xavier_uniform_(parameter)
    return model
