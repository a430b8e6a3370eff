"""Modules and parameters in a row, in a list, by name."""

from .module import Module
from .parameter import Parameter


class Sequential(Module):
    """Layers one behind the other."""

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], dict):
            for name, layer in layers[0].items():
                self.add_module(name, layer)
        else:
            for place, layer in enumerate(layers):
                self.add_module(str(place), layer)

    def forward(self, input):
        for layer in self._modules.values():
            input = layer(input)
        return input

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, key):
        layers = list(self._modules.values())
        return type(self)(*layers[key]) if isinstance(key, slice) else layers[key]

    def append(self, layer):
        self.add_module(str(len(self)), layer)
        return self


class ModuleList(Module):
    """Layers in a list."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, key):
        layers = list(self._modules.values())
        return type(self)(layers[key]) if isinstance(key, slice) else layers[key]


class ModuleDict(Module):
    """Layers by name."""

    def __init__(self, modules=None):
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class ParameterList(Module):
    """Parameters in a list."""

    def __init__(self, values=None):
        super().__init__()
        for place, each in enumerate(values or ()):
            self.register_parameter(
                str(place), each if isinstance(each, Parameter) else Parameter(each)
            )

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, place):
        return list(self._parameters.values())[place]
