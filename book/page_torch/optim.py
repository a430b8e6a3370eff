"""Optimizers: plain descent and Adam."""

from ._graph import no_grad
from ._missing import lookup
from ._tensor import Tensor


class Optimizer:
    """Holds parameters in groups, each with its settings."""

    def __init__(self, params, defaults):
        params = [params] if isinstance(params, Tensor) else list(params)
        if not params:
            raise ValueError("optimizer got an empty parameter list")
        groups = params if isinstance(params[0], dict) else [{"params": params}]
        self.defaults, self.state = defaults, {}
        self.param_groups = [
            {
                **defaults,
                **group,
                "params": [group["params"]]
                if isinstance(group["params"], Tensor)
                else list(group["params"]),
            }
            for group in groups
        ]

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for each in group["params"]:
                each.grad = None

    def step(self, closure=None):
        loss = None if closure is None else closure()
        with no_grad():
            for group in self.param_groups:
                for each in group["params"]:
                    if each.grad is not None:
                        self._move(each, group, self.state.setdefault(each, {}))
        return loss


class SGD(Optimizer):
    """A step against the gradient, with momentum where it is asked for."""

    def __init__(
        self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, **ignored
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                momentum=momentum,
                dampening=dampening,
                weight_decay=weight_decay,
                nesterov=nesterov,
            ),
        )

    def _move(self, w, group, state):
        gradient = w.grad + group["weight_decay"] * w if group["weight_decay"] else w.grad
        if group["momentum"]:
            if "speed" in state:
                state["speed"] = (
                    group["momentum"] * state["speed"] + (1 - group["dampening"]) * gradient
                )
            else:
                state["speed"] = gradient.clone()
            gradient = (
                gradient + group["momentum"] * state["speed"]
                if group["nesterov"]
                else state["speed"]
            )
        w.sub_(group["lr"] * gradient)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015)."""

    apart = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, **ignored):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def _move(self, w, group, state):
        gradient, (b1, b2) = w.grad, group["betas"]
        if group["weight_decay"]:
            if self.apart:
                w.mul_(1 - group["lr"] * group["weight_decay"])
            else:
                gradient = gradient + group["weight_decay"] * w
        step = state["step"] = state.get("step", 0) + 1
        state["exp_avg"] = b1 * state.get("exp_avg", gradient * 0) + (1 - b1) * gradient
        state["exp_avg_sq"] = (
            b2 * state.get("exp_avg_sq", gradient * 0) + (1 - b2) * gradient * gradient
        )
        mean, square = state["exp_avg"] / (1 - b1**step), state["exp_avg_sq"] / (1 - b2**step)
        w.sub_(group["lr"] * mean / (square.sqrt() + group["eps"]))


class AdamW(Adam):
    """Adam whose decay of the weights is a step of its own."""

    apart = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **ignored):
        super().__init__(params, lr, betas, eps, weight_decay)


__path__: list[str] = []  # what is imported from in here is missing, and says so
__getattr__ = lookup("optim", "torch.optim")
