"""Comparisons that raise."""

from ._arithmetic import allclose


def assert_close(actual, expected, *, rtol=None, atol=None, equal_nan=False, msg=None, **ignored):
    if actual.shape != expected.shape:
        raise AssertionError(
            f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}."
        )
    if actual.dtype is not expected.dtype:
        raise AssertionError(
            f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}."
        )
    near = (
        (1e-7, 1e-7)
        if actual.dtype.itemsize == 8
        else (1.3e-6, 1e-5)
        if actual.dtype.itemsize == 4
        else (1e-3, 1e-5)
    )
    if not allclose(
        actual,
        expected,
        near[0] if rtol is None else rtol,
        near[1] if atol is None else atol,
        equal_nan,
    ):
        raise AssertionError(msg or "Tensor-likes are not close!")
