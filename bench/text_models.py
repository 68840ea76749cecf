"""The peer's side of suite `text` where a model runs: PyTorch in eager mode with transformers' BertModel, float32, on the CPU.

AdamW is torch.optim's in the variant that `optimizer` names: the suite takes the faster one.
"""

import functools

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 77


def batch_of(batch, length, vocabulary):
    torch.manual_seed(1)
    return torch.randint(1, vocabulary, (batch, length)), torch.ones(batch, length, dtype=torch.int64), torch.randint(0, CLASSES, (batch,))


def trained(model, forward, y, optimizer):
    model.train()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=optimizer == "fused")

    def step():
        adam.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(), y)
        loss.backward()
        adam.step()
        return loss
    return step


class Bert(nn.Module):
    """Mean pooling, and a classifier or vectors of length 1."""

    def __init__(self, weights, classes, dropout):
        from transformers import BertModel
        super().__init__()
        self.bert = BertModel.from_pretrained(weights, attn_implementation="sdpa", add_pooling_layer=False,
                                              hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(self.bert.config.hidden_size, classes) if classes else None

    def forward(self, ids, mask):
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        wide = mask.unsqueeze(-1).float()
        mean = (hidden * wide).sum(1) / wide.sum(1).clamp(min=1e-9)
        return self.classifier(self.dropout(mean)) if self.classifier else F.normalize(mean, dim=1)


def facts(side, model):
    import transformers
    side.version = f"torch {torch.__version__}, transformers {transformers.__version__}"
    return {"n_params": sum(p.numel() for p in model.parameters())}


def minilm_step(side, threads, weights, batch, length, dropout="0", optimizer="plain", vocabulary="10000"):
    torch.set_num_threads(threads)
    model = Bert(weights, CLASSES, float(dropout))
    ids, mask, y = batch_of(int(batch), int(length), int(vocabulary))
    return trained(model, lambda: model(ids, mask), y, optimizer), facts(side, model)


def minilm_forward(side, threads, weights, batch, length, vocabulary="10000"):
    torch.set_num_threads(threads)
    model = Bert(weights, 0, 0.0).eval()
    ids, mask, _ = batch_of(int(batch), int(length), int(vocabulary))

    def run():
        with torch.inference_mode():
            return model(ids, mask)
    return run, facts(side, model)


class TextClassifier(nn.Module):
    def __init__(self, vocabulary, width=128):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary, width, mode="mean", padding_idx=0)
        self.linear = nn.Linear(width, CLASSES)

    def forward(self, ids):
        return self.linear(self.embedding(ids))


def textclassifier_step(side, threads, batch, length, vocabulary="10000", optimizer="plain"):
    torch.set_num_threads(threads)
    model = TextClassifier(int(vocabulary))
    ids, _, y = batch_of(int(batch), int(length), int(vocabulary))
    return trained(model, lambda: model(ids), y, optimizer), facts(side, model)


class Recurrence(nn.Module):
    """An LSTM or GRU, the mean of its results, a linear layer."""

    def __init__(self, kind, size, hidden):
        super().__init__()
        self.recurrence = kind(size, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        return self.linear(self.recurrence(x)[0].mean(1))


def recurrent_step(kind, side, threads, batch, length, optimizer="plain", **sizes):
    torch.set_num_threads(threads)
    size = int(sizes["in"])  # a word of Python's
    model = Recurrence(kind, size, int(sizes["hidden"]))
    _, _, y = batch_of(int(batch), int(length), 2)
    x = torch.randn(int(batch), int(length), size, requires_grad=True)
    inner = trained(model, lambda: model(x), y, optimizer)

    def step():
        x.grad = None
        return inner()
    side.version = f"torch {torch.__version__}"
    return step, {"n_params": sum(p.numel() for p in model.parameters())}


lstm_step = functools.partial(recurrent_step, nn.LSTM)
gru_step = functools.partial(recurrent_step, nn.GRU)
