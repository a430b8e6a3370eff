import pytest
import torch

from attention_book.course.exercises import check


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


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda f, p: dead(f, p, same=torch.equal), "rounding-taken-for-life"),
        (lambda f, p: {name for name in p if p[name] is None}, "never-dead"),
        (lambda f, p: {*p}, "always-dead"),
    ],
)
def test_useless_parameters(answer, mistake):
    assert check("dead-parameters", dead)
    assert check("dead-parameters", answer).mistake == mistake


def test_a_gradient_of_rounding_errors_is_no_life():
    assert check("dead-parameters", untouched).mistake in {"rounding-taken-for-life", None}
    assert not check("dead-parameters", untouched)
