"""Answers to any exercise: the solution, each known mistake, slips. Runs on both sides."""

import inspect


def _after(right, change):
    def answer(*args):
        return change(right(*args))

    answer.__signature__ = inspect.signature(right)
    return answer


def _array(value):
    import torch

    return (
        value.numpy()
        if isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16
        else value
    )


def _only(change):
    def changed(value):
        import torch

        return change(value) if isinstance(value, torch.Tensor) else value

    return changed


def _in_place(right):
    def answer(*args):
        import torch

        value = right(*args)
        for each in args:
            if isinstance(each, torch.Tensor):
                each.zero_()
            elif isinstance(each, list):
                each.clear()
        return value

    answer.__signature__ = inspect.signature(right)
    return answer


def _raises(kind):
    def change(value):
        raise kind("as it should not")

    return change


def answers(exercise):
    """Yield names and answers."""
    right = exercise.solution
    yield "solution", right
    for number, mistake in enumerate(exercise.mistakes):
        yield f"mistake {number} {mistake.name}", mistake.wrong
    slips = {
        "none": lambda value: None,
        "list": _only(lambda t: t.tolist()),
        "array": _array,
        "transposed": _only(lambda t: t.mT if t.ndim > 1 else t),
        "axis": _only(lambda t: t.unsqueeze(0)),
        "late": _only(lambda t: t.roll(1, -1) if t.ndim else t),
        "one less": _only(lambda t: t[1:] if t.ndim else t),
        "double": _only(lambda t: t.double()),
        "long": _only(lambda t: t.long()),
        "bool": _only(lambda t: t != 0),
        "nan": _only(lambda t: t * float("nan")),
        "detached": _only(lambda t: t.detach()),
        "number": _only(lambda t: t.flatten()[0].item() if t.numel() else t),
        "generator": lambda value: (each for each in (value,)),
        "KeyError": _raises(KeyError),
        "IndexError": _raises(IndexError),
        "RuntimeError": _raises(RuntimeError),
    }
    for name, change in slips.items():
        yield f"slip {name}", _after(right, change)
    yield "slip in place", _in_place(right)
    yield "slip arguments", (lambda: None) if exercise.parameters else (lambda x: None)
    yield "slip value", "an answer"
