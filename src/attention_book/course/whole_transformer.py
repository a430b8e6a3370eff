"""One whole Transformer. 一个完整的 Transformer。"""

import math

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS = 0, 2, 3


def real(ids):  # (B, m) -> (B, 1, m)
    return (ids != PAD).unsqueeze(-2)


def causal(ids):  # (B, n) -> (n, n)
    n = ids.shape[-1]
    return torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()


def attend(q, k, v, mask):  # (..., n, d), (..., m, d) -> (..., n, d)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (..., n, m)
    w = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return w @ v


def split(x, heads):  # (B, n, d) -> (B, heads, n, d / heads)
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge(x):  # (B, heads, n, d / heads) -> (B, n, d)
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        maps = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.W_q, self.W_k, self.W_v, self.W_o = maps

    def forward(self, x, mask, source=None):  # (B, n, d) -> (B, n, d)
        source = x if source is None else source
        q, k, v = self.W_q(x), self.W_k(source), self.W_v(source)
        q, k, v = (split(each, self.heads) for each in (q, k, v))
        return self.W_o(merge(attend(q, k, v, mask.unsqueeze(-3))))


class FeedForward(nn.Module):
    def __init__(self, d, d_ff):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d, d_ff), nn.Linear(d_ff, d)

    def forward(self, x):  # (B, n, d) -> (B, n, d)
        return self.W_2(self.W_1(x).relu())


class AddNorm(nn.Module):
    def __init__(self, d, pre):
        super().__init__()
        self.norm, self.pre = nn.LayerNorm(d), pre

    def forward(self, x, sublayer, *how):  # (B, n, d) -> (B, n, d)
        if self.pre:
            return x + sublayer(self.norm(x), *how)
        return self.norm(x + sublayer(x, *how))


class Layer(nn.Module):
    def __init__(self, d, heads, d_ff, pre=False, reads_source=False):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, heads)
        self.self_attention_norm = AddNorm(d, pre)
        if reads_source:
            self.cross_attention = MultiHeadAttention(d, heads)
            self.cross_attention_norm = AddNorm(d, pre)
        self.feed_forward = FeedForward(d, d_ff)
        self.feed_forward_norm = AddNorm(d, pre)

    def forward(self, x, mask, source=None, source_mask=None):
        x = self.self_attention_norm(x, self.self_attention, mask)
        if source is not None:
            look = self.cross_attention
            x = self.cross_attention_norm(x, look, source_mask, source)
        return self.feed_forward_norm(x, self.feed_forward)


def positions(n, d):  # -> (n, d)
    i, j = torch.arange(n).double(), torch.arange(0, d, 2).double()
    angles = i[:, None] / 10000 ** (j / d)  # (n, d / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


class Stack(nn.Module):
    def __init__(self, words, depth, d, heads, d_ff, pre, reads_source):
        super().__init__()
        self.embedding = nn.Embedding(words, d)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(Layer(d, heads, d_ff, pre, reads_source))
        self.norm = nn.LayerNorm(d) if pre else nn.Identity()

    def forward(self, ids, mask, source=None, source_mask=None):
        n, d = ids.shape[-1], self.embedding.embedding_dim
        x = self.embedding(ids) * math.sqrt(d)  # (B, n, d)
        x = x + positions(n, d).to(x)
        for layer in self.layers:
            x = layer(x, mask, source, source_mask)
        return self.norm(x)


class Transformer(nn.Module):
    def __init__(self, words, depth, d, heads, d_ff, pre=False, tied=True):
        super().__init__()
        size = depth, d, heads, d_ff, pre
        self.encoder = Stack(words[0], *size, reads_source=False)
        self.decoder = Stack(words[1], *size, reads_source=True)
        self.readout = nn.Linear(d, words[1], bias=not tied)
        if tied:
            self.readout.weight = self.decoder.embedding.weight

    def encode(self, source):  # (B, m) -> (B, m, d)
        return self.encoder(source, real(source))

    def decode(self, target, encoded, source_mask):  # -> (B, n, words)
        mask = causal(target)
        return self.readout(self.decoder(target, mask, encoded, source_mask))

    def forward(self, source, target):  # (B, m), (B, n) -> (B, n, words)
        return self.decode(target, self.encode(source), real(source))


def loss(model, source, target):  # target: <bos> a b <eos>
    logits = model(source, target[:, :-1]).flatten(0, 1)
    return F.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=PAD)


@torch.no_grad()
def translate(model, source, most=30):  # (B, m) -> (B, n)
    encoded = model.encode(source)
    target = torch.full_like(source[:, :1], BOS)
    for _ in range(most):
        logits = model.decode(target, encoded, real(source))[:, -1]
        logits[:, [PAD, BOS]] = -math.inf
        ended = (target == EOS).any(dim=1)
        word = logits.argmax(dim=-1).masked_fill(ended, PAD)
        target = torch.cat((target, word[:, None]), dim=1)
    return target[:, 1:]
