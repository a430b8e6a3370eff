"""The module: what holds parameters, buffers and other modules, and lists them by their paths."""

from collections import OrderedDict

from .._dtypes import dtype as DType
from .._dtypes import float16, float32, float64
from .._graph import no_grad
from .._tensor import Handle
from .parameter import Parameter


class Module:
    """What layers and models are made of."""

    training = True

    def __init__(self, *args, **kwargs):
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, OrderedDict())
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "_forward_hooks", OrderedDict())
        object.__setattr__(self, "_forward_pre_hooks", OrderedDict())

    def forward(self, *args, **kwargs):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args, **kwargs):
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        made = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, args, made)
            made = made if changed is None else changed
        return made

    def __setattr__(self, name, value):
        tables = self.__dict__
        if isinstance(value, (Parameter, Module)) and "_parameters" not in tables:
            kind = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if isinstance(value, Parameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif "_buffers" in tables and name in self._buffers:
            self._buffers[name] = value
        elif "_parameters" in tables and name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}'"
                    " (torch.nn.Parameter"
                    " or None expected)"
                )
            self._parameters[name] = None
        else:
            if "_modules" in tables:
                self._modules.pop(name, None)
            object.__setattr__(self, name, value)

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            table.pop(name, None)

    def __getattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def register_buffer(self, name, tensor, persistent=True):
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)

    def register_parameter(self, name, param):
        self._parameters[name] = param

    def add_module(self, name, module):
        self._modules[name] = module

    register_module = add_module

    def register_forward_hook(self, hook, **ignored):
        return self._hook(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook, **ignored):
        return self._hook(self._forward_pre_hooks, hook)

    def _hook(self, table, hook):
        key = object()
        table[key] = hook
        return Handle(lambda: table.pop(key, None))

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        memo = set() if memo is None else memo
        if id(self) not in memo:
            memo.add(id(self))
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self):
        return (module for _, module in self.named_modules())

    def named_children(self):
        return ((name, module) for name, module in self._modules.items() if module is not None)

    def children(self):
        return (module for _, module in self.named_children())

    def _named(self, table, prefix, recurse):
        seen = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, tensor in getattr(module, table).items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse=True):
        return (each for _, each in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse=True):
        return (each for _, each in self.named_buffers(recurse=recurse))

    def state_dict(self, *, prefix="", keep_vars=False, destination=None):
        state = OrderedDict() if destination is None else destination
        for name, tensor in self._parameters.items():
            if tensor is not None:
                state[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._transient:
                state[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(prefix=f"{prefix}{name}.", keep_vars=keep_vars, destination=state)
        return state

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = self.state_dict(keep_vars=True)
        missing, extra = own.keys() - state_dict.keys(), state_dict.keys() - own.keys()
        if strict and (missing or extra):
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}: missing"
                f" {sorted(missing)},"
                f" unexpected {sorted(extra)}"
            )
        with no_grad():
            for name, tensor in own.items():
                if name in state_dict:
                    if tensor.shape != state_dict[name].shape:
                        raise RuntimeError(
                            f"Error(s) in loading state_dict for {type(self).__name__}: size"
                            " mismatch for"
                            f" {name}: copying a param with shape {state_dict[name].shape} from"
                            " checkpoint,"
                            f" the shape in current model is {tensor.shape}."
                        )
                    tensor.copy_(state_dict[name])
        return None

    def apply(self, function):
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def train(self, mode=True):
        object.__setattr__(self, "training", mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for each in self.parameters():
            each.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for each in self.parameters():
            each.grad = None

    def to(self, *args, dtype=None, **kwargs):
        for each in args:
            dtype = each if isinstance(each, DType) else dtype
        for module in self.modules():
            for table in (module._parameters, module._buffers):
                for name, tensor in table.items():
                    if tensor is not None and tensor.is_floating_point():
                        moved = tensor.detach().to(*args, dtype=dtype, **kwargs)
                        if isinstance(tensor, Parameter):
                            tensor.data = moved
                        else:
                            table[name] = moved
        return self

    def float(self):
        return self.to(float32)

    def double(self):
        return self.to(float64)

    def half(self):
        return self.to(float16)

    def cpu(self):
        return self

    def cuda(self, device=None):
        return self.to(device="cuda")

    def get_submodule(self, target):
        found = self
        for name in target.split(".") if target else ():
            found = getattr(found, name)
        return found

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    def extra_repr(self):
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = []
        for name, module in self._modules.items():
            children.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        head = f"{self._get_name()}("
        if not children:
            return head + "\n  ".join(lines) + ")"
        return head + "\n  " + "\n  ".join(lines + children) + "\n)"
