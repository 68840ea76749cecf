#!/usr/bin/env python3
"""Writes golden/minilm_embeddings.npy: sentence-transformers' embeddings of golden/texts.txt, a line a text, by all-MiniLM-L6-v2
(scripts/fetch-minilm), and golden/minilm_gradients.npz: of a loss made of them, by PyTorch. In the environment of scripts/peers-venv."""
import os
import pathlib

import numpy
import torch
from sentence_transformers import SentenceTransformer

HERE = pathlib.Path(__file__).resolve().parent / "golden"
MODEL = os.environ.get("ISOBIT_MINILM", str(HERE.parents[2] / ".models" / "minilm"))
NAMES = ["embeddings.LayerNorm.weight", "encoder.layer.0.attention.self.query.bias", "encoder.layer.2.attention.self.key.weight",
         "encoder.layer.5.output.LayerNorm.bias", "encoder.layer.3.intermediate.dense.bias", "encoder.layer.1.attention.output.dense.bias"]

model = SentenceTransformer(MODEL, device="cpu").eval()
texts = (HERE / "texts.txt").read_text(encoding="utf-8").splitlines()
numpy.save(HERE / "minilm_embeddings.npy", model.encode(texts, batch_size=4).astype(numpy.float32))
features = model.tokenize(texts)
model(features)["sentence_embedding"].square().mul(torch.arange(384) % 7).sum().backward()
gradients = dict(model[0].auto_model.named_parameters())
rows = {name: gradients[name].grad.numpy().reshape(-1)[:1536].astype(numpy.float32) for name in NAMES}
numpy.savez(HERE / "minilm_gradients.npz", **rows)
