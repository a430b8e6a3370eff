"""A little linear algebra."""

from . import _products, _reductions
from ._copies import cat, stack
from ._creation import eye
from ._missing import lookup, missing
from ._views import mT

cross, diagonal, matmul = _products.cross, None, _products.matmul


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    return _reductions.norm(x, ord, dim, keepdim, dtype)


def norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    if (
        ord is not None
        and ((dim is None and x.dim() == 2) or (isinstance(dim, tuple) and len(dim) == 2))
        and ord != "fro"
    ):
        raise missing(f"torch.linalg.norm(ord={ord!r})")
    return _reductions.norm(x, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype)


def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    if ord != "fro":
        raise missing(f"torch.linalg.matrix_norm(ord={ord!r})")
    return _reductions.norm(x, 2, list(dim), keepdim)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """Substitute row by row."""
    if not left:
        return mT(solve_triangular(mT(A), mT(B), upper=not upper, unitriangular=unitriangular))
    n, rows = A.shape[-1], {}
    for i in range(n - 1, -1, -1) if upper else range(n):
        total = B[..., i, :]
        for j in rows:
            total = total - A[..., i, j, None] * rows[j]
        rows[i] = total if unitriangular else total / A[..., i, i, None]
    return stack([rows[i] for i in range(n)], -2)


def solve(A, B):
    """Eliminate column by column, with pivots."""
    vector = B.dim() == A.dim() - 1
    if A.dim() != 2:
        return stack(
            [
                solve(a, b)
                for a, b in zip(
                    A, B.expand(*A.shape[:-2], *B.shape[-1 - (not vector) :]), strict=True
                )
            ]
        )
    both, n = cat([A, B.unsqueeze(-1) if vector else B], 1), A.shape[0]
    rows = list(both.unbind(0))
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(rows[r][i].item()))
        rows[i], rows[best] = rows[best], rows[i]
        if rows[i][i].item() == 0:
            raise RuntimeError(
                "torch.linalg.solve: The solver failed because the input matrix is singular."
            )
        rows[i] = rows[i] / rows[i][i]
        for r in range(n):
            if r != i:
                rows[r] = rows[r] - rows[r][i] * rows[i]
    found = stack(rows)[:, n:]
    return found.squeeze(-1) if vector else found


def inv(A):
    return solve(A, eye(A.shape[-1], dtype=A.dtype).expand(*A.shape))


def multi_dot(tensors):
    made = tensors[0]
    for each in tensors[1:]:
        made = _products.matmul(made, each)
    return made


__getattr__ = lookup("linalg", "torch.linalg")
