"""Products by panels: right for any shape, and nothing written beyond the last row."""

from __future__ import annotations

import numpy as np
import torch
from c_code import call, compile_c
from hypothesis import given, settings
from hypothesis import strategies as st

GUARD = 32
sizes = st.integers(1, 40)
C_CODE = compile_c("""
#include "products.h"
i64 padded_length(i64 d) { return padded(d); }
void by_panels(float *bias, i64 n, i64 m, i64 k, float *A, i64 wide, float *P, float *C) {
    panels(bias, n, m, k, A, wide, P, C, m);
}
void packed(i64 transposed, i64 m, i64 k, float *B, float *P) {
    if (transposed) pack_transposed(m, k, B, P);
    else pack(m, k, B, P);
}
void by_outer(i64 n, i64 m, i64 rows, float *A, i64 a_wide, float *B, i64 b_wide, float *C) {
    add_outer(n, m, rows, A, a_wide, B, b_wide, C);
}
""")


def panels_of(B: torch.Tensor, transposed: bool) -> torch.Tensor:
    k, m = B.shape[::-1] if transposed else B.shape
    P = torch.full((C_CODE.padded_length(m) * k,), torch.nan)
    call(C_CODE.packed, transposed, m, k, B.data_ptr(), P.data_ptr())
    return P


def guarded(n: int, m: int) -> torch.Tensor:
    return torch.full((n * m + GUARD,), 7.0)


def check(C: torch.Tensor, true: torch.Tensor) -> None:
    n, m = true.shape
    torch.testing.assert_close(C[: n * m].view(n, m), true, rtol=1e-4, atol=1e-5)
    assert (C[n * m :] == 7.0).all()


@settings(max_examples=100, deadline=None)
@given(n=sizes, m=sizes, k=sizes, gap=st.integers(0, 3), biased=st.booleans(), turned=st.booleans())
def test_any_shape(n: int, m: int, k: int, gap: int, biased: bool, turned: bool) -> None:
    rng = np.random.default_rng(n * m * k)
    A, B, bias = (
        torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
        for shape in ((n, k + gap), (k, m), (m,))
    )
    given = B.T.contiguous() if turned else B
    C, P = guarded(n, m), panels_of(given, turned)
    at = bias.data_ptr() if biased else 0
    call(C_CODE.by_panels, at, n, m, k, A.data_ptr(), k + gap, P.data_ptr(), C.data_ptr())
    check(C, A[:, :k] @ B + (bias if biased else 0))


@settings(max_examples=100, deadline=None)
@given(n=sizes, m=sizes, rows=st.integers(1, 300), gap=st.integers(0, 3), more=st.integers(0, 3))
def test_outer_products_of_any_shape(n: int, m: int, rows: int, gap: int, more: int) -> None:
    rng = np.random.default_rng(n * m * rows)
    A, B = (
        torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
        for shape in ((rows, n + gap), (rows, m + more))
    )
    C = guarded(n, m)
    C[: n * m] = torch.arange(n * m)
    true = C[: n * m].view(n, m).double() + A[:, :n].T.double() @ B[:, :m].double()
    places = (A.data_ptr(), n + gap, B.data_ptr(), m + more, C.data_ptr())
    call(C_CODE.by_outer, n, m, rows, *places)
    torch.testing.assert_close(C[: n * m].view(n, m).double(), true, rtol=1e-4, atol=1e-4)
    assert (C[n * m :] == 7.0).all()
