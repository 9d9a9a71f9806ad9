"""Check a certificate again, from files alone: the model folder, the automaton, the certificate.

This module shares no code with the one that makes certificates, and needs NumPy and safetensors
only. It searches for nothing. A certificate names boxes of mixtures; what is left to check is that

- the start token leads into box 0, whose automaton state is the initial one;
- from any point of a box, each symbol leads into the box that the certificate names, whose
  automaton state is the one that the automaton goes to;
- from any point of a box, the network's class is the label of its automaton state.

By induction over the length of a word, network and automaton then agree on all words. Each bound is
widened by more than the float32 network can round there, as the certificate's `rounding` says.

    python -m kleene.proof.verify MODEL DFA.json CERTIFICATE.json
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.errors import AutomatonError, ModelError, ReadingError

Array: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[Array, Array]
Document: TypeAlias = str | Path | Mapping[str, Any]

START, END, FIRST = 2, 3, 4  # tokens; those of the symbols begin at FIRST
CHUNK = 1_000_000  # numbers in one array at a time
U = 2.0**-24  # rounding unit of float32
F = 2.0**-19  # error of sigmoid and tanh


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the check found."""

    holds: bool
    reason: str
    temperature: float | None = None
    running_temperature: float | None = None
    checked_pairs: int = 0
    margin: float | None = None
    """By how much, over all steps, the next centroid's score beats the others at least."""
    output_margin: float | None = None

    @property
    def at_running_temperature(self) -> bool:
        """Whether the proof is about the temperature the network runs with."""
        if self.temperature is None or self.running_temperature is None:
            return False
        return abs(self.temperature - self.running_temperature) <= 1e-6 * self.running_temperature

    def __str__(self) -> str:
        return self.reason


class _FailedError(Exception):
    """A condition of the proof that is not met."""


def verify(model_folder: str | Path, dfa_json: Document, certificate_json: Document) -> Verdict:
    """Check a certificate; the documents are paths, JSON texts or parsed objects.

    What does not hold is said in the verdict; files that cannot be read are errors.
    """
    network = _Network.load(Path(model_folder))
    dfa = _document(dfa_json, "kleene.dfa/1", AutomatonError)
    certificate = _document(certificate_json, "kleene.certificate/1", ReadingError)
    try:
        return _check(network, dfa, certificate)
    except _FailedError as wrong:
        return Verdict(holds=False, reason=f"the certificate does not hold: {wrong}")
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        detail = f"{type(error).__name__}: {error}"[:200]
        return Verdict(holds=False, reason=f"the certificate does not hold: damaged ({detail})")


def _check(network: _Network, dfa: dict[str, Any], certificate: dict[str, Any]) -> Verdict:
    for key in ("alphabet", "start", "outputs", "transitions"):
        _need(dfa[key] == certificate["dfa"][key], "it is about another automaton")
    _need(certificate["model_sha256"] == network.digest, "it is about other weights")
    temperature = float(certificate["temperature"])
    _need(0 < temperature < np.inf, f"its temperature is {temperature}")
    lo, hi = np.array(certificate["lo"], float), np.array(certificate["hi"], float)
    count, k = len(lo), len(network.S)
    _need(count > 0 and lo.shape == hi.shape == (count, k), "its boxes have another shape")
    _need(bool(((lo >= 0) & (lo <= hi) & (hi <= 1)).all()), "a box is empty or too large")
    _need(bool((lo.sum(1) <= 1).all() and (hi.sum(1) >= 1).all()), "a box holds no mixture")

    following, states, labels = _follows(network, dfa, certificate, count)
    leads = _integers(certificate["centroids"], (count,), k)
    image, _ = network.next_box(network.begin(), leads[0], temperature)
    _inside(image, (lo[0], hi[0]), "the start token misses box 0")
    margin = output_margin = np.inf
    chunk = max(1, CHUNK // (k + network.W.shape[0]))
    for i in range(count):
        mixed = network.mixed(lo[i], hi[i])
        for begin in range(0, following.shape[1], chunk):
            columns = np.arange(begin, min(begin + chunk, following.shape[1]))
            u = network.applied(FIRST + columns, mixed)
            for target in set(following[i, columns].tolist()):
                at = following[i, columns] == target
                image, gap = network.next_box((u[0][at], u[1][at]), leads[target], temperature)
                margin = min(margin, gap)
                _inside(image, (lo[target], hi[target]), f"a step from box {i} misses box {target}")
        settled = network.class_margin(mixed, labels[states[i]])
        _need(settled > 0, f"the class in box {i} is not settled")
        output_margin = min(output_margin, settled)
    return Verdict(
        holds=True,
        reason=(
            f"checked: network and automaton agree on all words at temperature {temperature:g}, "
            f"{following.size} steps of {count} boxes"
        ),
        temperature=temperature,
        running_temperature=network.temperature,
        checked_pairs=following.size,
        margin=float(margin),
        output_margin=float(output_margin),
    )


def _follows(
    network: _Network, dfa: dict[str, Any], certificate: dict[str, Any], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, int]]:
    """The boxes' moves, states and the class of each state, once they fit the automaton."""
    symbols, alphabet = network.symbols, [_hashable(symbol) for symbol in dfa["alphabet"]]
    same = len(alphabet) == len(symbols) and set(alphabet) == set(symbols)
    _need(same, "model and automaton have different alphabets")
    column_of = {symbol: column for column, symbol in enumerate(alphabet)}
    columns = [column_of[symbol] for symbol in symbols]
    size = len(dfa["outputs"])
    table = _integers(dfa["transitions"], (size, len(alphabet)), size)
    states = _integers(certificate["dfa_states"], (count,), size)
    following = _integers(certificate["transitions"], (count, len(symbols)), count)
    _need(states[0] == dfa["start"], "box 0 is not at the initial state")
    moved = states[following] == table[states][:, columns]
    _need(bool(moved.all()), "the boxes do not follow the automaton's transitions")
    labels = {}
    for state in set(states.tolist()):
        label = _hashable(dfa["outputs"][state])
        _need(label in network.classes, f"no class of the network is {label!r}")
        labels[state] = network.classes.index(label)
    return following, states, labels


@dataclass(frozen=True, kw_only=True)
class _Network:
    """The weights of a model folder, and the bounds of what they do."""

    E: Array  # token input
    W: Array  # gates*hidden input
    R: Array  # gates*hidden hidden
    b: Array  # gates*hidden, on the input's side
    c: Array  # gates*hidden, on the hidden vector's side
    S: Array  # state hidden
    H: Array  # class hidden
    d: Array  # class
    temperature: float
    cell: str
    similarity: str
    hard: bool
    end_token: bool
    symbols: list[Any]
    classes: list[Any]
    digest: str

    @classmethod
    def load(cls, folder: Path) -> _Network:
        """Read a model folder without torch."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            config = json.loads((folder / "config.json").read_bytes())
            parts = {n: (folder / n).read_bytes() for n in ("model.safetensors", "alphabet.json")}
            for name, content in parts.items():
                if hashlib.sha256(content).hexdigest() != config["sha256"][name]:
                    raise ModelError(f"{folder}/{name} is not the file that was saved; train again")
            symbols = json.loads(parts["alphabet.json"])["symbols"]
            _require_provable(config["network"])
            return cls._build(config, load(parts["model.safetensors"]), symbols)
        except OSError as error:
            message = f"cannot read {error.filename}: {error.strerror}; give a model folder"
            raise ModelError(message) from None
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{folder} is no model folder ({error!r}); train again") from None

    @classmethod
    def _build(
        cls, config: dict[str, Any], weights: Mapping[str, NDArray[Any]], symbols: list[Any]
    ) -> _Network:
        net, classes = config["network"], config["classes"]
        w = {name: array.astype(float) for name, array in weights.items()}
        if (len(w["embedding.weight"]), len(w["head.bias"])) != (
            FIRST + len(symbols),
            len(classes),
        ):
            raise ValueError("the weights are for another number of symbols or classes")
        return cls(
            E=w["embedding.weight"],
            W=w["rnn.weight_ih_l0"],
            R=w["rnn.weight_hh_l0"],
            b=w["rnn.bias_ih_l0"],
            c=w["rnn.bias_hh_l0"],
            S=w["rnn.centroids_l0"],
            H=w["head.weight"],
            d=w["head.bias"],
            temperature=float(np.exp(w["rnn.log_temperature_l0"])),
            cell=net["cell"],
            similarity=net["similarity"],
            hard=net["transition"] in ("soft-argmax", "gumbel-hard"),
            end_token=bool(net["end_token"]),
            symbols=[_hashable(symbol) for symbol in symbols],
            classes=[_hashable(label) for label in classes],
            digest=_digest(weights),
        )

    @property
    def g(self) -> float:
        """Relative rounding error of a float32 sum of products here."""
        return float(1.001 * U * (self.W.shape[1] + self.S.shape[1] + 2 * len(self.S) + 128))

    def mixed(self, lo: Array, hi: Array) -> Pair:
        """The range of R h + c and of h, for h = alpha S and alpha in the box.

        For any level v, alpha m = v + sum_j alpha_j (m_j - v), since alpha sums to 1; so the box's
        ends bound it, for every v. The best v is one of the m_j.
        """
        m = np.hstack([self.S @ self.R.T + self.c, self.S])
        size = np.hstack([abs(self.S) @ abs(self.R).T + abs(self.c), abs(self.S)]).max(0)
        least, most = np.full(m.shape[1], -np.inf), np.full(m.shape[1], np.inf)
        for v in m:
            above, below = np.maximum(m - v, 0), np.maximum(v - m, 0)
            most = np.minimum(most, v + hi @ above - lo @ below)
            least = np.maximum(least, v + lo @ above - hi @ below)
        return least - self.g * size, most + self.g * size

    def begin(self) -> Pair:
        """The cell's u on the start token, from h = 0."""
        at = np.concatenate([self.c, np.zeros(self.S.shape[1])])
        return self.applied(np.array([START]), (at - self.g * abs(at), at + self.g * abs(at)))

    def applied(self, tokens: NDArray[np.int64], mixed: Pair) -> Pair:
        """The range of the cell's u for each token, (token, hidden)."""
        E, n = self.E[tokens], self.S.shape[1]
        x = E @ self.W.T + self.b
        error = self.g * (abs(E) @ abs(self.W).T + abs(self.b))
        x0, x1 = x - error, x + error
        (a0, h0), (a1, h1) = ((end[:-n], end[-n:]) for end in mixed)
        if self.cell == "rnn":
            return np.tanh(x0 + a0) - F, np.tanh(x1 + a1) + F
        if self.cell == "rnn-relu":
            return np.maximum(x0 + a0, 0) * (1 - F), np.maximum(x1 + a1, 0) * (1 + F)
        r, z, q = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        r0, z0 = (np.maximum(_sigmoid(x0[:, s] + a0[s]) - F, 0) for s in (r, z))
        r1, z1 = (np.minimum(_sigmoid(x1[:, s] + a1[s]) + F, 1) for s in (r, z))
        n0 = x0[:, q] + np.where(a0[q] < 0, r1, r0) * a0[q]
        n1 = x1[:, q] + np.where(a1[q] < 0, r0, r1) * a1[q]
        n0, n1 = np.tanh(n0 - self.g * abs(n0)) - F, np.tanh(n1 + self.g * abs(n1)) + F
        u0 = np.where(h0 < n0, (1 - z1) * n0 + z1 * h0, (1 - z0) * n0 + z0 * h0)
        u1 = np.where(h1 < n1, (1 - z0) * n1 + z0 * h1, (1 - z1) * n1 + z1 * h1)
        error = 8 * U * (1 + np.maximum(abs(h0), abs(h1)))
        return u0 - error, u1 + error

    def next_box(self, u: Pair, lead: int, temperature: float) -> tuple[Pair, float]:
        """The hull of the next mixtures, and by how much the lead's score wins at least."""
        keys, offsets = self.S, np.zeros(len(self.S))
        if self.similarity == "euclidean":
            offsets = -0.5 * (self.S * self.S).sum(1)
        if self.similarity == "cosine":
            keys = keys / np.maximum(np.sqrt((keys * keys).sum(1)), 1e-12)[:, None]
        low, high = _linear(u, keys - keys[lead], offsets - offsets[lead])
        reach = np.maximum(abs(u[0]), abs(u[1]))
        if self.similarity == "cosine":
            longest = np.maximum(np.sqrt((reach**2).sum(1)), 1e-12)[:, None]
            inner = np.where(u[0] * u[1] > 0, np.minimum(abs(u[0]), abs(u[1])), 0)
            shortest = np.maximum(np.sqrt((inner**2).sum(1)), 1e-12)[:, None]
            low = low / np.where(low > 0, longest, shortest)
            high = high / np.where(high > 0, shortest, longest)
            error = np.full(low.shape, 4 * self.g)
        else:
            size = reach @ abs(keys).T + abs(offsets)
            error = self.g * (size + size[:, [lead]])
        low, high = low - error, high + error
        low[:, lead] = high[:, lead] = 0
        margin = -float(np.delete(high, lead, 1).max(initial=-np.inf))
        if self.hard:
            may = (high >= 0).any(0)
            return (np.where(may, float(may.sum() == 1), 0.0), may.astype(float)), margin
        # alpha_j = 1 / (1 + exp(-gap_j / tau) sum over i != j of exp(gap_i / tau))
        low, high = low / temperature, high / temperature
        factor = U * (len(self.S) + 64)
        with np.errstate(over="ignore", invalid="ignore"):  # nan is inside no box
            most = 1 / (1 + np.exp(-high) * _sum_of_others(np.exp(np.minimum(low, 300))))
            least = 1 / (1 + np.exp(-low) * _sum_of_others(np.exp(high)))
        most, least = most * (1 + factor) + 1e-37, least * (1 - factor) - 1e-37
        return (np.maximum(least, 0).min(0), np.minimum(most, 1).max(0)), margin

    def class_margin(self, mixed: Pair, winner: int) -> float:
        """By how much a class beats all others at least, at the end of a word."""
        n = self.S.shape[1]
        u = (mixed[0][None, -n:], mixed[1][None, -n:])
        if self.end_token:
            u = self.applied(np.array([END]), mixed)
        _, worst = _linear(u, self.H - self.H[winner], self.d - self.d[winner])
        size = np.maximum(abs(u[0]), abs(u[1])) @ abs(self.H).T + abs(self.d)
        worst = worst + self.g * (size + size[:, [winner]])
        return -float(np.delete(worst, winner, 1).max(initial=-np.inf))


def _require_provable(net: Mapping[str, Any]) -> None:
    """Proofs are about networks of these kinds."""
    kinds = {
        "cell": ("gru", "rnn", "rnn-relu"),
        "similarity": ("dot", "euclidean", "cosine"),
        "transition": ("mixture", "gumbel", "soft-argmax", "gumbel-hard"),
        "pooling": ("last",),
        "num_layers": (1,),
    }
    for setting, allowed in kinds.items():
        if net[setting] not in allowed or not (net["num_states"] and net["num_symbols"]):
            raise ReadingError(
                f"{setting}={net[setting]!r} came; proofs are about networks of one layer over "
                f"symbols, with centroids and {setting} in {allowed}"
            )


def _linear(u: Pair, D: Array, offset: Array) -> Pair:
    """The range of D u + offset."""
    up, down = np.maximum(D, 0).T, np.minimum(D, 0).T
    return u[0] @ up + u[1] @ down + offset, u[1] @ up + u[0] @ down + offset


def _sum_of_others(e: Array) -> Array:
    """For each column, the sum of all other columns; nothing is subtracted, so nothing cancels."""
    zero = np.zeros((len(e), 1))
    before = np.hstack([zero, e.cumsum(1)[:, :-1]])
    after = np.hstack([zero, e[:, ::-1].cumsum(1)[:, :-1]])[:, ::-1]
    return np.asarray(before + after)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -700, 700))))


def _inside(image: Pair, box: Pair, what: str) -> None:
    _need(bool((image[0] >= box[0]).all() and (image[1] <= box[1]).all()), what)


def _need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _FailedError(otherwise)


def _integers(values: Any, shape: tuple[int, ...], below: int) -> NDArray[np.int64]:
    array = np.array(values)
    fits = array.shape == shape and (array.dtype.kind == "i" or not array.size)
    _need(fits and bool(((array >= 0) & (array < below)).all()), "an index is out of range")
    return array.astype(np.int64)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _digest(weights: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over all weights, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


def _document(source: Document, wanted: str, error: type[Exception]) -> dict[str, Any]:
    """A parsed JSON object of the right format."""
    if isinstance(source, Mapping):
        content: Any = dict(source)
    else:
        try:
            is_text = isinstance(source, str) and source.lstrip().startswith("{")
            content = json.loads(str(source) if is_text else Path(source).read_bytes())
        except OSError as failed:
            what = f"cannot read {source!s:.200}: {failed.strerror}"
            raise error(f"{what}; a {wanted} is needed") from None
        except (ValueError, RecursionError) as failed:
            raise error(f"this is not JSON: {failed}; a {wanted} is needed") from None
    came = content.get("format") if isinstance(content, dict) else None
    if came != wanted:
        raise error(f"format {came!r:.60} came, {wanted!r} is needed; export it again")
    return dict(content)


if __name__ == "__main__":
    verdict = verify(*sys.argv[1:4])
    print(verdict)
    sys.exit(0 if verdict.holds else 1)
