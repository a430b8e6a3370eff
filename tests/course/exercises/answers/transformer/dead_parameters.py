"""Answers to the exercises on dead parameters."""

import torch


def dead(function, parameters, *, same=lambda a, b: torch.allclose(a, b, atol=1e-4)):
    found = set()
    for name in parameters:
        other = dict(parameters)
        other[name] = 3 * parameters[name] + 2
        if same(function(**parameters), function(**other)):
            found.add(name)
    return found


def untouched(function, parameters):
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    function(**leaves).sum().backward()
    return {name for name, leaf in leaves.items() if (leaf.grad == 0).all()}


def never_the_second(function, parameters):
    return dead(function, dict(list(parameters.items())[:1]))


def changed_to_zero(function, parameters):
    return {
        n
        for n, v in parameters.items()
        if torch.allclose(function(**parameters), function(**{**parameters, n: 0 * v}), atol=1e-4)
    }


def a_little(function, parameters):
    return {
        n
        for n, v in parameters.items()
        if torch.allclose(
            function(**parameters), function(**{**parameters, n: v + 1e-6}), atol=1e-4
        )
    }


def in_place(function, parameters):
    before, found = function(**parameters), set()
    for name, value in parameters.items():
        value += 1
        if torch.allclose(before, function(**parameters), atol=1e-4):
            found.add(name)
        value -= 1
    return found


def left_changed(function, parameters):
    before, found = function(**parameters), set()
    for name in parameters:
        parameters[name] = parameters[name] + 3
        if torch.allclose(before, function(**parameters), atol=1e-4):
            found.add(name)
    return found


def of_sums(function, parameters):
    """Compare the sum of the outputs alone."""
    return dead(function, parameters, same=lambda a, b: torch.allclose(a.sum(), b.sum(), atol=1e-3))


def small_gradient(function, parameters):
    leaves = {n: v.clone().requires_grad_() for n, v in parameters.items()}
    function(**leaves).square().sum().backward()
    return {n for n, leaf in leaves.items() if leaf.grad.abs().max() < 1e-4}


RIGHT = {
    "dead-parameters": [
        lambda f, p: dead(f, p),
        lambda f, p: {
            n for n in p if (f(**{**p, n: p[n] * 1.5 + 0.7}) - f(**p)).abs().max() < 1e-4
        },
        small_gradient,
    ]
}

WRONG = {
    "dead-parameters": [
        (lambda f, p: dead(f, p, same=torch.equal), "rounding-taken-for-life"),
        (untouched, "rejected"),
        (lambda f, p: {name for name in p if p[name] is None}, "never-dead"),
        (lambda f, p: {*p}, "always-dead"),
        (lambda f, p: [*dead(f, p)], "type"),
        (lambda f, p: {*p} - dead(f, p), "living"),
        (a_little, "always-dead"),
        (never_the_second, "rejected"),
        (left_changed, "rejected"),
        (lambda f, p: dead(f, p, same=lambda a, b: a.shape == b.shape), "always-dead"),
        (lambda f, p: dead(f, p, same=lambda a, b: bool((a == b).any())), "rejected"),
        (lambda f, p: {n for n in dead(f, p) if n.startswith("b")}, "rejected"),
        (lambda f, p: len(dead(f, p)), "type"),
        (lambda f, p: {next(iter(p))}, "rejected"),
        (lambda f, p: {n for n, v in p.items() if v.ndim}, "rejected"),
    ]
}
