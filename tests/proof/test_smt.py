"""An SMT solver checks the steps of certificates of tiny networks, rounding by rounding.

Each float32 sum and product is a real number and an error of its own, at most half a unit in the
last place: an order of operations that a network may run in, not the verifier's bound of a whole
sum. tanh and the softmax are unknown functions that are known at a few points to within their
measured errors, and grow. All is linear, so that z3 decides it exactly, over rational numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from random_models import largest_temperature, random_model

from kleene.passes.table import transition_table
from kleene.proof import verify_core as core
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.proof.verify_files import load_model

z3 = pytest.importorskip("z3", reason="needs `pip install z3-solver` or kleene[smt]")
pytestmark = pytest.mark.slow

U = Fraction(1, 2**24)
LOST = Fraction(1, 10**37)
SOFTMAX = 40 * U  # two exps, a sum, a quotient
KINDS = [
    {"cell": cell, "similarity": similarity, "end_token": end}
    for cell in ("rnn", "rnn-relu")
    for similarity in ("dot", "euclidean")
    for end in (False, True)
]


@dataclass
class Float32:
    """Operations of float32 on real terms; what is known of their results goes into a solver."""

    solver: z3.Solver = field(default_factory=z3.Solver)
    count: int = 0

    def rounded(self, exact: z3.ArithRef, units: int = 1) -> z3.ArithRef:
        """A number within some roundings of a term, or within what underflows."""
        self.count += 1
        value, error = z3.Real(f"r{self.count}"), U * units * z3.Abs(exact) + LOST
        self.solver.add(value - exact <= error, exact - value <= error)
        return value

    def dot(self, weights: list[float], terms: list[z3.ArithRef], bias: float) -> z3.ArithRef:
        """A sum of products, one after the other, and a bias."""
        total = self.rounded(Fraction(weights[0]) * terms[0])
        for weight, term in zip(weights[1:], terms[1:], strict=True):
            total = self.rounded(total + self.rounded(Fraction(weight) * term))
        return self.rounded(total + Fraction(bias))

    def unknown(self, x: z3.ArithRef, function: object, cuts: list[float], off: object):
        """The value of a growing function at x; `off` widens what it is at the cuts."""
        self.count += 1
        value = z3.Real(f"f{self.count}")
        for cut in cuts:
            if math.isfinite(cut):
                low, high = off(function(mpmath.mpf(cut)))
                self.solver.add(z3.Implies(x <= Fraction(cut), value <= high))
                self.solver.add(z3.Implies(x >= Fraction(cut), value >= low))
        return value


def outward(value: mpmath.mpf, absolute: Fraction, relative: Fraction) -> tuple[Fraction, Fraction]:
    """Rational numbers around a real one that mpmath knows to fifty digits."""
    exact = Fraction(str(mpmath.nstr(value, 45)))
    error = absolute + (relative + Fraction(1, 10**40)) * abs(exact)
    return exact - error, exact + error


def step(
    run: Float32, net: core.Network, token: int, alpha: list[z3.ArithRef], cuts: tuple[list, list]
) -> tuple[list[z3.ArithRef], z3.ArithRef]:
    """The next mixture and u, in float32, from a mixture; None at the start, where h is 0."""
    (layer,) = net.layers
    x = run.dot(layer.W[0].tolist(), [Fraction(float(v)) * z3.RealVal(1) for v in net.E[token]],
                float(layer.b[0]))  # fmt: skip
    h = z3.RealVal(0)
    if alpha:
        weighted = [
            run.rounded(Fraction(s) * a) for s, a in zip(layer.S[:, 0].tolist(), alpha, strict=True)
        ]
        h = run.rounded(weighted[0] + weighted[1])
    a = run.rounded(x + run.dot([float(layer.R[0, 0])], [h], float(layer.c[0])))
    if net.cell == "rnn":
        u = run.unknown(
            a, mpmath.tanh, cuts[0], lambda v: outward(v, Fraction(core.F), Fraction(0))
        )
        run.solver.add(u <= 1, u >= -1)
    else:
        u = z3.If(a > 0, a, z3.RealVal(0))
    scores = []
    for s in layer.S[:, 0].tolist():
        offset = run.rounded(z3.RealVal(Fraction(s) ** 2 / 2), 2)
        score = run.rounded(Fraction(s) * u)
        scores.append(run.rounded(score - offset) if net.similarity == "euclidean" else score)
    tau = Fraction(layer.temperature)
    logits = [run.rounded(score / tau, 20) for score in scores]  # of exp of the log, and a quotient
    gap = run.rounded(logits[1] - logits[0])
    logistic = lambda v: 1 / (1 + mpmath.exp(-v))  # noqa: E731
    after = [
        run.unknown(
            way * gap, logistic, [way * cut for cut in cuts[1]], lambda v: outward(v, LOST, SOFTMAX)
        )
        for way in (-1, 1)
    ]
    for one in after:
        run.solver.add(one >= 0, one <= 1)
    return after, u


def cuts_of(net: core.Network, token: int, hidden: core.Range) -> tuple[list[float], list[float]]:
    """Where the unknown functions are looked at. A wrong choice proves less, never too much."""
    x = core.token_gates(net, np.array([token]))
    a = [float((x[i] + hidden[i][:1])[0, 0]) for i in (0, 1)]
    u = core.apply(net, x, hidden)
    low, high = core.gaps(net, net.layers[0].S, u, 0)
    tau = net.layers[0].temperature
    return a, [float(low[0, 1]) / tau, float(high[0, 1]) / tau]


def inside(run: Float32, lo: np.ndarray, hi: np.ndarray) -> list[z3.ArithRef]:
    """A float32 mixture in a box: its sum is nearly 1."""
    alpha = [z3.Real(f"alpha{j}") for j in range(2)]
    for value, low, high in zip(alpha, lo.tolist(), hi.tolist(), strict=True):
        run.solver.add(value >= Fraction(low), value <= Fraction(high))
    run.solver.add(z3.Abs(alpha[0] + alpha[1] - 1) <= SOFTMAX)
    return alpha


def escapes(net: core.Network, found: Certificate, lo: np.ndarray, hi: np.ndarray) -> list[tuple]:
    """Steps that leave their box, as (box, symbol, mixture), and boxes of an uncertain class."""
    wrong = []
    for box in range(-1, len(lo)):
        symbols = [core.START] if box < 0 else core.FIRST + np.arange(found.transitions.shape[1])
        hidden = core.at_zero(net) if box < 0 else core.hidden_ranges(net, lo[box], hi[box])
        for token in map(int, symbols):
            run = Float32()
            alpha = [] if box < 0 else inside(run, lo[box, 0], hi[box, 0])
            after, _ = step(run, net, token, alpha, cuts_of(net, token, hidden[0]))
            target = 0 if box < 0 else found.transitions[box, token - core.FIRST]
            ends = zip(after, lo[target, 0].tolist(), hi[target, 0].tolist(), strict=True)
            run.solver.add(
                z3.Or(*[z3.Or(v < Fraction(low), v > Fraction(high)) for v, low, high in ends])
            )
            if run.solver.check() != z3.unsat:
                model = run.solver.model()
                point = [float(model.eval(a, model_completion=True).as_fraction()) for a in alpha]
                wrong.append((box, token, point))
    return wrong


def uncertain(net: core.Network, found: Certificate, classes: list[int]) -> list[int]:
    """Boxes where another class may have the highest score."""
    wrong = []
    for box, state in enumerate(found.dfa_states):
        run = Float32()
        alpha = inside(run, found.lo[box, 0], found.hi[box, 0])
        hidden = core.hidden_ranges(net, found.lo[box], found.hi[box])[0]
        if net.end_token:
            _, u = step(run, net, core.END, alpha, cuts_of(net, core.END, hidden))
        else:
            S = net.layers[0].S[:, 0].tolist()
            u = run.rounded(
                sum(run.rounded(Fraction(s) * a) for s, a in zip(S, alpha, strict=True))
            )
        scores = [
            run.dot([float(row[0])], [u], float(b)) for row, b in zip(net.H, net.d, strict=True)
        ]
        winner = classes[state]
        run.solver.add(scores[1 - winner] >= scores[winner])
        wrong += [box] if run.solver.check() != z3.unsat else []
    return wrong


def tiny(kind: dict, count: int = 3) -> list[tuple[core.Network, Certificate, list[int]]]:
    """Certificates of networks of one unit, two states and two symbols, with the widest boxes."""
    found, seed = [], 0
    while len(found) < count:
        seed += 1
        model = random_model(seed, num_states=2, hidden_size=1, input_size=1, **kind)
        if transition_table(model).dfa.minimize().num_states == 2 and certify(model).holds:
            model.network.rnn.temperature = 0.98 * largest_temperature(model)
            certificate = certify(model)
            net = load_model(model.to_files()).network
            labels = [model.classes.index(label) for label in certificate.dfa.outputs]
            found.append((net, certificate, labels))
    return found


def float32_step(net: core.Network, token: int, alpha: list[float]) -> np.ndarray:
    """The next mixture as float32 computes it."""
    f, (layer,) = np.float32, net.layers
    a = layer.W.astype(f) @ net.E[token].astype(f) + layer.b.astype(f) + layer.c.astype(f)
    if alpha:  # else the start, where h is 0
        a = a + layer.R.astype(f) @ (np.array(alpha, f) @ layer.S.astype(f))
    u = np.tanh(a) if net.cell == "rnn" else np.maximum(a, 0)
    scores = layer.S.astype(f) @ u
    if net.similarity == "euclidean":
        scores = scores - (layer.S.astype(f) ** 2).sum(1) / 2
    e = np.exp((scores - scores.max()) / f(layer.temperature))
    return e / e.sum()


def refuted(net: core.Network, found: Certificate) -> bool:
    """Whether the solver finds a step out of boxes that are too narrow, and float32 takes it."""
    for low, high in ((0, 0.1), (0.9, 1), (0, 0.5), (0.5, 1)):  # parts of the second centroid's
        lo, hi = found.lo.copy(), found.hi.copy()
        width = (hi - lo)[..., 1]
        lo[..., 1], hi[..., 1] = lo[..., 1] + low * width, lo[..., 1] + high * width
        for box, token, alpha in escapes(net, found, lo, hi):
            target = 0 if box < 0 else found.transitions[box, token - core.FIRST]
            after = float32_step(net, token, alpha)
            if ((after < lo[target, 0]) | (after > hi[target, 0])).any():
                return True
    return False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_the_solver_confirms_certificates_and_refutes_wrong_ones(kind):
    with mpmath.workdps(60):
        for net, found, classes in tiny(kind):
            assert escapes(net, found, found.lo, found.hi) == []
            assert uncertain(net, found, classes) == []
            assert uncertain(net, found, [1 - c for c in classes])
            assert refuted(net, found)


# -- bit by bit ------------------------------------------------------------------------------------


def out_of_range(
    net: core.Network, lo: list[float], hi: list[float], column: int, ends: tuple[float, float]
) -> tuple[float, list[float]] | None:
    """A float32 alpha and 1 - alpha in a box, whose h or R h + c (column 1, 0) is beyond ends."""
    sort, even, (layer,) = z3.Float32(), z3.RNE(), net.layers
    solver, alpha = z3.Solver(), [z3.FP(f"alpha{j}", sort) for j in range(2)]

    def number(value: float) -> z3.FPNumRef:
        return z3.FPVal(float(np.float32(value)), sort)

    def total(a: z3.FPRef, b: z3.FPRef) -> z3.FPRef:
        return z3.fpAdd(even, a, b)

    for value, low, high in zip(alpha, lo, hi, strict=True):
        solver.add(z3.fpGEQ(value, number(low)), z3.fpLEQ(value, number(high)))
    solver.add(alpha[1] == z3.fpSub(even, number(1), alpha[0]))
    parts = [z3.fpMul(even, number(s), a) for s, a in zip(layer.S[:, 0], alpha, strict=True)]
    value = total(*parts)
    if column == 0:
        value = total(z3.fpMul(even, number(layer.R[0, 0]), value), number(layer.c[0]))
    solver.add(z3.Or(z3.fpLT(value, number(ends[0])), z3.fpGT(value, number(ends[1]))))
    if solver.check() == z3.unsat:
        return None
    model = solver.model()
    found = [
        float(z3.simplify(z3.fpToReal(model.eval(one))).as_fraction()) for one in (value, *alpha)
    ]
    return found[0], found[1:]


@pytest.mark.parametrize("kind", KINDS[:2], ids=["dot", "dot-end"])
def test_the_solver_confirms_sums_in_the_theory_of_floating_point(kind):
    """The sums of a step, in the bits of float32; tanh and exp have no such theory."""
    f = np.float32
    for net, found, _ in tiny(kind, 2):
        (layer,) = net.layers
        S, R, c = layer.S[:, 0].astype(f), f(layer.R[0, 0]), f(layer.c[0])
        for lo, hi in zip(found.lo, found.hi, strict=True):
            low, high = core.hidden_ranges(net, lo, hi)[0]
            for column in range(2):
                ends = (
                    np.nextafter(f(low[column]), f(-np.inf)),
                    np.nextafter(f(high[column]), f(np.inf)),
                )
                assert out_of_range(net, lo[0], hi[0], column, ends) is None
                middle = (low[column] + high[column]) / 2
                value, alpha = out_of_range(net, lo[0], hi[0], column, (middle, high[column]))
                h = S[0] * f(alpha[0]) + S[1] * f(alpha[1])
                assert value == (R * h + c if column == 0 else h)
                assert value < middle
