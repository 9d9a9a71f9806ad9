"""The table of README.md: six lines, from the results on disk."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from own_languages import FRESH, TESTS
from page import LEARNED_BY, ORIGINS, Rows, chosen, figures, learned_by, load, markdown, measured
from speed_tables import by_cpu, cpu
from text_tables import ngram_error

Line = list[str]


def summary() -> str:
    """The lines of all experiments that have been run."""
    header = ["task", LEARNED_BY, "Kleene", "others", "run", "measured"]
    return markdown(header, [make() for make in LINES])


def tomita() -> Line:
    """States learned by gradient, against a plain GRU read by k-means."""
    rows = chosen(load("network_first"), part="tomita", learn="network", cell="gru", states=None)
    exact, proved = (
        sum(map(bool, figures(rows, f"result.{name}"))) for name in ("counts exact", "proved")
    )
    control = figures(load("tomita"), "result.control_exact")
    return [
        f"Tomita 1-7, {len(rows)} fits",
        ORIGINS["trained"],
        f"{exact} exact by counts, {proved} proved for all words",
        f"GRU + k-means: {sum(control)} of {len(control)} exact, none proved",
        "`experiments/network_first.py tomita`",
        measured(rows),
    ]


def mlregtest() -> Line:
    tests = ("TestSR", "TestSA", "TestLR", "TestLA")
    rows = [row for row in load("mlregtest") if row["result"].get("archive") == "dev20"]
    ours, plain = (chosen(rows, method=method) for method in ("kleene", "gru"))
    task = (
        "MLRegTest, 20 languages *(four of them looked at, all scored more than once)*: "
        "short, adversarial, long, both"
    )
    script = "`experiments/mlregtest.py --archive dev20`"
    others = f"plain GRU {four_tests(plain, tests)}"
    return [task, learned_by("induced")(ours), four_tests(ours, tests), others, script,
            measured(rows)]  # fmt: skip


def own_languages() -> Line:
    ours, plain = (
        chosen(load("own_languages"), symbols=16, method=method, seed=FRESH)
        for method in ("fit", "gru")
    )
    task = "languages of such classes over 16 symbols, made here, *not tuned on*"
    script = f"`experiments/own_languages.py --symbols 16 --methods fit,gru --seed {FRESH}`"
    others = f"plain GRU {four_tests(plain, TESTS)}"
    return [task, learned_by("induced")(ours), four_tests(ours, TESTS), others, script,
            measured(ours)]  # fmt: skip


def four_tests(rows: Rows, tests: Sequence[str]) -> str:
    """Mean accuracies, and how many languages have no error."""
    results = [row["result"] for row in rows]
    means = " / ".join(f"{mean(r[test] for r in results):.3f}".lstrip("0") for test in tests)
    perfect = sum(all(r[test] == 1 for test in tests) for r in results)
    return f"{means}, {perfect} of {len(results)} perfect"


def imdb() -> Line:
    rows = {
        row: chosen(load("imdb"), row=row, scale="small") for row in ("SR-LSTM-P states", "LSTM")
    }
    ours, plain = (median(figures(found, "result.test_error")) for found in rows.values())
    states = rows["SR-LSTM-P states"]
    alone = ngram_error()
    grams = "" if alone is None else f"n-grams alone {alone:.1f} %, "
    return [
        "IMDB reviews, states that have meaning",
        f"taught by {learned_by('trained')(states)}",
        f"{ours:.1f} % error (median of {len(states)})",
        f"{grams}plain LSTM {plain:.1f} %, the paper 9.2 %",
        "`experiments/reproduce.py imdb`",
        measured(states),
    ]


def networks() -> Line:
    rows = [row for row in load("read_networks") if row["result"].get("network_has_language")]
    exact, seconds = (figures(rows, f"result.{name}") for name in ("exact", "read_cpu_seconds"))
    ours = f"{sum(exact)} of {len(rows)} read as exactly the language"
    ours += f", at most {max(seconds):.1f} CPU-s"
    task, learner = "stock `nn.GRU`, `nn.LSTM` on Tomita, read", "gradient, elsewhere"
    return [task, learner, ours, "", "`experiments/read_networks.py`", measured(rows)]


def speed() -> Line:
    """Train steps as ratios to torch.nn, for every CPU model they were measured on."""
    parts, tables = [], by_cpu("recurrent")
    for table in tables:
        ratios = {
            cell: " / ".join(
                f"{r['ratio']:.2f}"
                for r in table["results"]
                if r["row"] == "train" and r["cell"] == cell
            )
            for cell in ("LSTM-P", "GRU")
        }
        parts.append(f"LSTM {ratios['LSTM-P']}, GRU {ratios['GRU']} on {cpu(table)}")
    day = max(str(table["machine"]["date"]) for table in tables)
    task = "a train step over `nn.LSTM`'s and `nn.GRU`'s, four shapes"
    return [task, "-", "; ".join(parts), "1", "`benchmarks/recurrent.py`", day]


LINES = (tomita, mlregtest, own_languages, imdb, networks, speed)
