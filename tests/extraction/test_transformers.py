"""A small transformer, trained from scratch and saved by its own library, read from a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import kleene as kl
from kleene.errors import ModelError

transformers = pytest.importorskip("transformers", reason="needs `pip install transformers`")
pytestmark = pytest.mark.slow


def save_classifier(folder: Path) -> None:
    """A BERT of two layers that learned Tomita 1 from short words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "0": 4, "1": 5}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=6,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
    )
    network = transformers.BertForSequenceClassification(config)
    words, labels = kl.languages.tomita(1).sample(1500, lengths=range(1, 13), seed=0)
    inputs = fast([" ".join(word) for word in words], return_tensors="pt", padding=True)
    truth = torch.tensor([int(label) for label in labels])
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    for _ in range(4):
        for part in torch.randperm(len(words)).split(64):
            scores = network(
                input_ids=inputs["input_ids"][part], attention_mask=inputs["attention_mask"][part]
            ).logits
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, truth[part]).backward()
            optimizer.step()
    network.save_pretrained(folder)
    fast.save_pretrained(folder)


@pytest.mark.filterwarnings("ignore")
def test_a_local_folder_is_read(tmp_path: Path) -> None:
    save_classifier(tmp_path)
    words, _ = kl.languages.tomita(1).sample(500, lengths=range(1, 13), seed=1)
    reading = kl.read(kl.adapt.transformers(tmp_path), "01", words)
    assert reading.dfa.recognizer("LABEL_1") == kl.languages.tomita(1).dfa


@pytest.mark.filterwarnings("ignore")
def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no sequence classifier"):
        kl.adapt.transformers(tmp_path)
