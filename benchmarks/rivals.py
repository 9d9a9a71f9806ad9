"""What a user may fit instead: the same network in plain PyTorch, n-grams, fastText.

    python benchmarks/rivals.py padded train.csv test.csv out --tokens text [--seconds 120]

Each reads a CSV of `text,label`, fits, saves, and prints its CPU seconds up to there, its accuracy
on the other file, and whether it was stopped before its schedule was over. benchmarks/fits.py runs
them.

The network is Embedding, nn.LSTM (nn.GRU for symbols) and Linear, of Kleene's default sizes. Its
schedule is Kleene's, too: for texts 8 epochs, then 4 at a quarter of the learning rate, the maximum
over time and dropout; for symbols until 99.9 % of the held-out rows are right, the last step. A
tenth of the rows is held out, a stage ends early after 4 (symbols: 10) epochs without a better
loss there, and the best weights are kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZE, BATCH, RATE, HELD_OUT = 100, 32, 0.003, 0.1
Rows = tuple[list[list[str]], list[str]]
WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*|[^\w\s]")


def read(path: str, tokens: str) -> Rows:
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    cut: dict[str, Callable[[str], list[str]]] = {
        "text": lambda text: WORD.findall(text.lower()),
        "words": str.split,
        "chars": list,
    }
    return [cut[tokens](text) for text, _ in rows], [label for _, label in rows]


def network(train: Rows, test: Rows, out: str, tokens: str, seconds: float, packed: bool) -> Any:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    texts = tokens == "text"
    vocabulary = {
        symbol: i + 1 for i, symbol in enumerate(sorted({s for w in train[0] for s in w}))
    }
    classes = sorted(set(train[1]))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.packed = packed
            self.embedding = nn.Embedding(len(vocabulary) + 1, SIZE, padding_idx=0)
            self.rnn = (nn.LSTM if texts else nn.GRU)(SIZE, SIZE, batch_first=True)
            self.drop = nn.Dropout(0.5 if texts else 0.0)
            self.head = nn.Linear(SIZE, len(classes))

        def forward(self, words: list[Any]) -> Any:
            lengths = torch.tensor([len(word) for word in words])
            x = self.drop(self.embedding(pad_sequence(words, batch_first=True)))
            if self.packed:
                pack = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
                hidden = pad_packed_sequence(self.rnn(pack)[0], batch_first=True)[0]
            else:
                hidden = self.rnn(x)[0]
            if texts:
                mask = torch.arange(hidden.shape[1]) >= lengths[:, None]
                pooled = hidden.masked_fill(mask[..., None], -torch.inf).amax(1)
            else:
                pooled = hidden[torch.arange(len(words)), lengths - 1]
            return self.head(self.drop(pooled))

    def encode(rows: Rows) -> tuple[list[Any], Any]:
        ids = [torch.tensor([vocabulary.get(s, 0) for s in w] or [0]) for w in rows[0]]
        return ids, torch.tensor([classes.index(label) for label in rows[1]])

    def batches(index: Any, words: list[Any], shuffle: bool) -> list[Any]:
        index = index[np.argsort([len(words[i]) for i in index], kind="stable")]
        parts = [index[i : i + BATCH] for i in range(0, len(index), BATCH)]
        return [parts[i] for i in rng.permutation(len(parts))] if shuffle else parts

    @torch.no_grad()
    def judge(index: Any, words: list[Any], labels: Any) -> tuple[float, float]:
        net.eval()
        scores = [
            (net([words[i] for i in part]), labels[part]) for part in batches(index, words, False)
        ]
        net.train()
        found, wanted = (torch.cat(parts) for parts in zip(*scores, strict=True))
        loss = nn.functional.cross_entropy(found, wanted).item()
        return loss, (found.argmax(1) == wanted).float().mean().item()

    net = Net()
    words, labels = encode(train)
    order = rng.permutation(len(words))
    held, rest = np.split(order, [max(1, int(HELD_OUT * len(order)))])
    stopped, epochs = False, 0
    stages = [(8, RATE, 4), (4, RATE / 4, 4)] if texts else [(1000, RATE, 10)]
    for count, rate, patience in stages:
        optimizer = torch.optim.Adam(net.parameters(), lr=rate)
        best, left = float("inf"), patience
        kept = {name: weight.clone() for name, weight in net.state_dict().items()}
        for _ in range(count):
            for part in batches(rest, words, True):
                optimizer.zero_grad(set_to_none=True)
                nn.functional.cross_entropy(net([words[i] for i in part]), labels[part]).backward()
                optimizer.step()
                stopped = time.process_time() > seconds
                if stopped:
                    break
            epochs += not stopped
            loss, share = judge(held, words, labels)
            if loss < best:
                best, left = loss, patience
                kept = {name: weight.clone() for name, weight in net.state_dict().items()}
            else:
                left -= 1
            if stopped or left == 0 or (not texts and share >= 0.999):
                break
        net.load_state_dict(kept)
        if stopped:
            break
    torch.save(net.state_dict(), Path(out, "model.pt"))
    taken = time.process_time()
    net.packed = False  # the same answers, and quicker: what follows is not part of the fit
    words, labels = encode(test)
    accuracy = judge(np.arange(len(words)), words, labels)[1]
    return {"cpu_seconds": taken, "accuracy": accuracy, "stopped": stopped, "epochs": epochs}


def grams(train: Rows, test: Rows, out: str, tokens: str) -> dict[str, Any]:
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    longest = {"text": 2, "words": 3, "chars": 5}[tokens]
    vectors = TfidfVectorizer(
        analyzer="word", tokenizer=list, lowercase=False, token_pattern=None,
        ngram_range=(1, longest), preprocessor=None,
    )  # fmt: skip
    model = make_pipeline(vectors, LogisticRegression(C=10.0, max_iter=1000)).fit(*train)
    model[0].set_params(tokenizer=None)
    joblib.dump(model, Path(out, "model.joblib"))
    taken = time.process_time()
    model[0].set_params(tokenizer=list)
    return {"cpu_seconds": taken, "accuracy": float(model.score(*test)), "stopped": False}


def fasttext(train: Rows, test: Rows, out: str, tokens: str) -> dict[str, Any]:
    import fasttext as library

    corpus = Path(out, "train.txt")
    lines = [f"__label__{y} {' '.join(word)}\n" for word, y in zip(*train, strict=True)]
    corpus.write_text("".join(lines))
    model = library.train_supervised(
        str(corpus), epoch=25, wordNgrams=2 if tokens == "text" else 5, bucket=200_000,
        thread=1, verbose=0,
    )  # fmt: skip
    model.save_model(str(Path(out, "model.bin")))
    taken = time.process_time()
    right = 0
    for word, label in zip(*test, strict=True):
        found = model.f.predict(" ".join(word) + "\n", 1, 0.0, "strict")
        right += bool(found) and found[0][1] == f"__label__{label}"
    return {"cpu_seconds": taken, "accuracy": right / len(test[0]), "stopped": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=("padded", "packed", "grams", "fasttext"))
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("out")
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    train, test = read(given.train, given.tokens), read(given.test, given.tokens)
    Path(given.out).mkdir(exist_ok=True)
    if given.method in ("padded", "packed"):
        packed = given.method == "packed"
        found = network(train, test, given.out, given.tokens, given.seconds, packed)
    else:
        found = globals()[given.method](train, test, given.out, given.tokens)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
