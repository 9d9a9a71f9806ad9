"""With the component off, torch's own modules; with it on, the same calls and shapes."""

from __future__ import annotations

import copy
import math
import time

import pytest
import torch
from networks import CELLS, network, ragged
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from kleene.errors import SettingError
from kleene.nn import SRGRU, SRLSTM, SRRNN, use_fused
from kleene.nn.mode import OWN, PLAIN

PAIRS = {
    "rnn": (nn.RNN, SRRNN),
    "rnn-relu": (
        lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k),
        lambda *a, **k: SRRNN(*a, nonlinearity="relu", **k),
    ),
    "gru": (nn.GRU, SRGRU),
    "lstm": (nn.LSTM, SRLSTM),
}


def pair(cell: str, *args: object, num_states: int = 5, **kwargs: object):
    """Torch's module and ours with the same weights."""
    theirs, ours = PAIRS[cell]
    torch.manual_seed(0)
    a, b = theirs(*args, **kwargs), ours(*args, num_states=num_states, **kwargs)
    keys = b.load_state_dict(a.state_dict(), strict=False)
    assert not keys.unexpected_keys
    assert all(k.startswith(("centroids", "log_temperature")) for k in keys.missing_keys)
    return a, b


def flat(result: tuple) -> list[Tensor]:
    output, last = result
    if isinstance(output, PackedSequence):
        data, *layout = output
        outputs = [data, *(part for part in layout if part is not None)]
    else:
        outputs = [output]
    return [*outputs, *(last if isinstance(last, tuple) else (last,))]


def assert_same(a: nn.Module, b: nn.Module, *args: object, atol: float = 1e-12) -> None:
    """Outputs and the gradients of all weights."""
    left, right = flat(a(*args)), flat(b(*args, mode=PLAIN))
    for x, y in zip(left, right, strict=True):
        torch.testing.assert_close(y, x, rtol=1e-5, atol=atol)
    for module, values in ((a, left), (b, right)):
        module.zero_grad()
        sum(v.square().sum() for v in values if v.is_floating_point()).backward()
    for name, weight in a.named_parameters():
        torch.testing.assert_close(b.get_parameter(name).grad, weight.grad, rtol=1e-5, atol=atol)


def initial(cell: str, *shape: int, dtype: torch.dtype = torch.float64):
    h, c = torch.randn(2, *shape, dtype=dtype)
    return (h, c) if cell == "lstm" else h


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", PAIRS)
def test_padded_input(cell, layers, batch_first, both) -> None:
    settings = {"bias": batch_first == both, "batch_first": batch_first, "bidirectional": both}
    a, b = pair(cell, 3, 4, layers, dtype=torch.float64, **settings)
    x = torch.randn(5, 6, 3, dtype=torch.float64)
    assert_same(a, b, x)
    assert_same(a, b, x, initial(cell, layers * (1 + both), 5 if batch_first else 6, 4))
    for theirs, ours in zip(a.all_weights, b.all_weights, strict=True):
        assert all(torch.equal(*both) for both in zip(theirs, ours, strict=False))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("cell", PAIRS)
def test_packed_input(cell, sort, both) -> None:
    a, b = pair(cell, 3, 4, 2, dtype=torch.float64, bidirectional=both)
    lengths = [5, 3, 3, 1] if sort else [3, 1, 5, 3]
    x = torch.randn(5, 4, 3, dtype=torch.float64)
    packed = pack_padded_sequence(x, lengths, enforce_sorted=sort)
    assert_same(a, b, packed)
    assert_same(a, b, packed, initial(cell, 2 + 2 * both, 4, 4))


@pytest.mark.parametrize("cell", PAIRS)
def test_one_unbatched_sequence(cell) -> None:
    a, b = pair(cell, 3, 4, 2, dtype=torch.float64)
    x = torch.randn(5, 3, dtype=torch.float64)
    assert_same(a, b, x)
    assert_same(a, b, x, initial(cell, 2, 4))


@pytest.mark.parametrize("cell", PAIRS)
def test_single_precision_and_no_states_at_all(cell) -> None:
    a, b = pair(cell, 3, 8, 2, num_states=0, batch_first=True)
    assert b.state_dict().keys() == a.state_dict().keys()
    assert_same(a, b, torch.randn(7, 9, 3), atol=1e-5)


@pytest.mark.parametrize("cell", PAIRS)
def test_dropout_lies_between_the_layers(cell) -> None:
    # With a dropout of 1 nothing of the first layer reaches the second: no luck is involved.
    a, b = pair(cell, 3, 4, 2, dropout=1.0, dtype=torch.float64)
    x = torch.randn(5, 6, 3, dtype=torch.float64)
    assert_same(a, b, x)
    a.eval()
    b.eval()
    assert_same(a, b, x)


@pytest.mark.parametrize("cell", PAIRS)
def test_an_empty_batch(cell) -> None:
    a, b = pair(cell, 3, 4, dtype=torch.float64)
    nothing = torch.zeros(2, 0, 3).double()
    for x, y in zip(flat(a(nothing)), flat(b(nothing, mode=PLAIN)), strict=True):
        assert x.shape == y.shape


@pytest.mark.parametrize("mode", [OWN, PLAIN])
@pytest.mark.parametrize("cell", CELLS)
def test_no_time_at_all_leaves_the_initial_state(cell, mode) -> None:
    net = network(cell, 3, 4, 2, num_states=5)
    h, c = torch.randn(2, 2, 6, 4, dtype=torch.float64)
    given = (h, c) if net.cell.has_memory else h
    output, last = net(torch.zeros(0, 6, 3).double(), given, mode=mode)
    assert output.shape == (0, 6, 4)
    for given, found in zip((h, c), last if net.cell.has_memory else (last,), strict=False):
        assert torch.equal(given, found)


@pytest.mark.parametrize("cell", CELLS)
def test_all_forms_of_the_input_give_the_same_with_the_component_on(cell) -> None:
    net = network(cell, 2, 3, 2, num_states=4)
    words, packed = ragged([4, 4], 2)
    expected = flat(net(torch.stack(words, 1)))
    net.batch_first = True
    batch_first = flat(net(torch.stack(words)))
    torch.testing.assert_close(batch_first[0].transpose(0, 1), expected[0])
    from_packed = flat(net(packed))
    torch.testing.assert_close(from_packed[0], expected[0].flatten(0, 1))
    for i, word in enumerate(words):
        alone = flat(net(word))
        torch.testing.assert_close(alone[0], expected[0][:, i])
        for one, all_of_them in zip(alone[1:], expected[1:], strict=True):
            torch.testing.assert_close(one, all_of_them[:, i])


@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
def test_two_directions_have_their_own_centroids_and_traces(build) -> None:
    torch.manual_seed(0)
    net, x = build(3, 5, num_states=4, bidirectional=True), torch.randn(6, 2, 3)
    forward, backward = (build(3, 5, num_states=4) for _ in range(2))
    weights = net.state_dict()
    forward.load_state_dict({n: w for n, w in weights.items() if not n.endswith("_reverse")})
    turned = {n.removesuffix("_reverse"): w for n, w in weights.items() if n.endswith("_reverse")}
    backward.load_state_dict(turned)
    trace, there, back = net.trace(x), forward.trace(x), backward.trace(x.flip(0))
    torch.testing.assert_close(trace.probs, there.probs)
    torch.testing.assert_close(trace.reverse.probs, back.probs.flip(1))
    assert torch.equal(trace.reverse.states, back.states.flip(1))
    both = torch.cat([there.hidden, back.hidden.flip(1)], -1)
    torch.testing.assert_close(net(x)[0].transpose(0, 1), both)
    with use_fused(False):
        torch.testing.assert_close(net(x)[0].transpose(0, 1), both)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
def test_an_exported_program_equals_the_module(build, both) -> None:
    net, x = build(3, 4, 2, num_states=3, bidirectional=both), torch.randn(4, 2, 3)
    exported = torch.export.export(net, (x,)).module()
    torch.testing.assert_close(exported(x), net(x))


def test_a_compiled_module_equals_the_module_and_compiles_fast() -> None:
    net, x = SRLSTM(3, 4, num_states=3), torch.randn(20, 2, 3)
    start = time.process_time()
    output, _ = torch.compile(net, backend="aot_eager")(x)
    output.sum().backward()
    assert time.process_time() - start < 30
    torch.testing.assert_close(output, net(x)[0])


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_print_shows_the_settings_also_of_empty_weights(device) -> None:
    net = SRGRU(2, 3, num_states=4, device=device)
    if device == "cpu":
        net.log_temperature_l0.data.fill_(1e30)  # as memory may hold before it is initialised
    for part in ("SRGRU(2, 3", "num_states=4", "mixture", "dot"):
        assert part in repr(net)
    assert "num_states" not in repr(SRGRU(2, 3, num_states=0))


def test_initial_values_are_the_papers_and_torchs() -> None:
    net = SRLSTM(8, 400, num_states=50, peephole=True)
    bound = 1 / math.sqrt(400)
    for name, weight in net.named_parameters():
        if name.startswith("log_temperature"):
            assert weight.item() == 0
        else:
            most = 0.5 if name.startswith("centroids") else bound
            assert 0.98 * most < weight.max() <= most
            assert -0.98 * most > weight.min() >= -most


def test_temperature_is_set_for_every_layer_and_read_back() -> None:
    net = SRGRU(2, 3, 2, num_states=4, temperature=0.25)
    assert net.temperature == pytest.approx(0.25)
    net.temperature = 3
    assert [net.recurrence(i).component.temperature.item() for i in (0, 1)] == pytest.approx([3, 3])
    for bad in (0, -1, math.nan):
        with pytest.raises(SettingError, match="> 0"):
            net.temperature = bad


def test_a_copy_and_a_state_dict_carry_everything() -> None:
    net = network("gru", 2, 3, num_states=4, temperature=0.5)
    x = torch.randn(4, 1, 2).double()
    other = network("gru", 2, 3, num_states=4, seed=9)
    other.load_state_dict(net.state_dict())
    assert torch.equal(net(x)[0], other(x)[0])
    assert torch.equal(net(x)[0], copy.deepcopy(net)(x)[0])


def test_parametrised_weights_are_used() -> None:
    net = SRGRU(2, 3, num_states=4, dtype=torch.float64)
    plain = copy.deepcopy(net)
    x = torch.randn(4, 1, 2).double()
    nn.utils.parametrizations.spectral_norm(net, "weight_hh_l0")
    net.eval()
    with torch.no_grad():
        plain.weight_hh_l0.copy_(net.weight_hh_l0)
    torch.testing.assert_close(net(x)[0], plain(x)[0])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: torch.jit.script(SRGRU(2, 3)), "use torch.export.export or torch.jit.trace"),
        (lambda: SRGRU(0, 3), "input_size must be at least 1, got 0"),
        (lambda: SRGRU(2, 0), "hidden_size must be at least 1, got 0"),
        (lambda: SRGRU(2, 3, 0), "num_layers must be at least 1, got 0"),
        (lambda: SRGRU(2, 3, num_states=-1), "num_states must be at least 0, got -1"),
        (lambda: SRGRU(2, 3, temperature=0), "temperature must be > 0, got 0"),
        (lambda: SRRNN(2, 3, nonlinearity="gelu"), "'tanh' or 'relu'"),
        (lambda: SRLSTM(2, 3, proj_size=1), "proj_size must be 0, got 1"),
        (lambda: SRGRU(2, 3, num_states=0).centroids(), "no centroids"),
    ],
)
def test_wrong_settings_say_what_to_do(build, message) -> None:
    with pytest.raises(SettingError, match=message):
        build()


@pytest.mark.parametrize(
    ("cell", "arguments", "message"),
    [
        ("gru", (torch.zeros(4, 1, 3),), "input_size = 2, got 3"),
        ("gru", (torch.zeros(4, 1, 1, 2),), "2 or 3 dimensions"),
        ("gru", (torch.zeros(2),), "2 or 3 dimensions"),
        ("gru", (torch.zeros(4, 1, 2), torch.zeros(1, 2, 3)), r"= \(1, 1, 3\), got \(1, 2, 3\)"),
        ("gru", (torch.zeros(4, 1, 2), (torch.zeros(1, 1, 3),) * 2), "one tensor h_0"),
        ("lstm", (torch.zeros(4, 1, 2), torch.zeros(1, 1, 3)), r"a pair \(h_0, c_0\)"),
    ],
)
def test_wrong_input_says_what_to_do(cell, arguments, message) -> None:
    with pytest.raises(SettingError, match=message):
        network(cell, 2, 3, num_states=4)(*arguments)
