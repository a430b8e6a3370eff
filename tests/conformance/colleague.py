"""A decoder as a colleague wrote it, who has never seen the laws: four slips, none marked."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attention_book.conformance import Sequence


class SelfAttn(nn.Module):
    def __init__(self, n_embd, n_head, block_size, slips):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.n_head, self.slips = n_head, slips
        bias = torch.tril(torch.ones(block_size, block_size))
        self.register_buffer("bias", bias.view(1, 1, block_size, block_size))

    def forward(self, x, kv=None, pad=None):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if kv is not None:
            k, v = torch.cat([kv[0], k], dim=2), torch.cat([kv[1], v], dim=2)
        S = k.size(2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if "rows" in self.slips:
            att = att.masked_fill(self.bias[:, :, :T, :S] == 0, float("-inf"))
        else:
            att = att.masked_fill(self.bias[:, :, S - T : S, :S] == 0, float("-inf"))
        if pad is not None:
            hide = pad[:, None, :, None] if "pad" in self.slips else pad[:, None, None, :]
            att = att.masked_fill(hide, -1e4)
        att = F.softmax(att, dim=-1)
        att = F.dropout(att, 0.1) if "drop" in self.slips else F.dropout(att, 0.1, self.training)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), (k, v)


class Decoder(nn.Module):
    def __init__(self, vocab=17, n_embd=24, n_head=3, n_layer=2, block_size=64, slips=()):
        super().__init__()
        torch.manual_seed(11)
        self.wte, self.wpe = nn.Embedding(vocab, n_embd), nn.Embedding(block_size, n_embd)
        self.ln1 = nn.ModuleList(nn.LayerNorm(n_embd) for _ in range(n_layer))
        self.ln2 = nn.ModuleList(nn.LayerNorm(n_embd) for _ in range(n_layer))
        self.attn = nn.ModuleList(
            SelfAttn(n_embd, n_head, block_size, slips) for _ in range(n_layer)
        )
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
            for _ in range(n_layer)
        )
        self.ln_f, self.head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocab, bias=False)
        self.slips = slips

    def forward(self, idx, pad=None, past=None):
        seen = 0 if past is None else past[0][0].size(2)
        seen = 0 if "wpe" in self.slips else seen
        pos = torch.arange(seen, seen + idx.size(1), device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        new = []
        for i, attn in enumerate(self.attn):
            y, kv = attn(self.ln1[i](x), None if past is None else past[i], pad)
            x = x + y
            x = x + self.mlp[i](self.ln2[i](x))
            new.append(kv)
        return self.head(self.ln_f(x)), new


def as_subject(*slips):
    model = Decoder(slips=slips)
    return Sequence(
        model,
        vocabulary=17,
        mask="blocked",
        causal=True,
        positions=True,
        module=model,
        start=lambda batch: None,
        step=lambda idx, past: model(idx, None, past),
        select=lambda past, rows: [(k[rows], v[rows]) for k, v in past],
        name=f"a colleague's decoder, {' and '.join(slips) or 'mended'}",
    )
