"""Answers to the exercises on the data of translation."""

import torch
from torch.nn.utils.rnn import pad_sequence


def grown(tokens, bos, eos):
    tokens.append(eos)
    return [bos, *tokens[:-1]], tokens


def by_appending(tokens, bos, eos):
    given, wanted = [bos], []
    for token in tokens:
        given.append(token)
        wanted.append(token)
    return given, [*wanted, eos]


def inserted(tokens, bos, eos):
    shifted = [*tokens, eos]
    tokens.insert(0, bos)
    return tokens, shifted


def pad(sentences, padding, *, before=False, longest=max, fresh=True, width=None):
    width = width or longest(len(row) for row in sentences)
    mask = torch.zeros(len(sentences), width, dtype=torch.bool)
    ids = torch.full(mask.shape, padding)
    for i, row in enumerate(sentences):
        kept = row[:width]
        place = slice(width - len(kept), width) if before else slice(0, len(kept))
        ids[i if fresh else slice(None), place] = torch.tensor(kept)
        mask[i, place] = True
    return ids, mask


def in_place(sentences, padding):
    ids, mask = pad(sentences, padding)
    for row, real in zip(sentences, ids.tolist(), strict=True):
        row[:] = real
    return ids, mask


def by_torch(sentences, padding):
    ids = pad_sequence([torch.tensor(row) for row in sentences], True, padding)
    return ids, pad_sequence([torch.ones(len(row)) for row in sentences], True) > 0


def plain(sentences, padding):
    width = max(map(len, sentences))
    ids = [row + (width - len(row)) * [padding] for row in sentences]
    return torch.tensor(ids), torch.tensor(
        [[i < len(row) for i in range(width)] for row in sentences]
    )


def longest_first(sentences, padding):
    return pad(sorted(sentences, key=len, reverse=True), padding)


SEEN = []


def remembers_width(sentences, padding):
    SEEN.append(max(map(len, sentences)))
    return pad(sentences, padding, width=max(SEEN))


RIGHT = {
    "teacher-forcing": [
        lambda t, bos, eos: [[bos, *t], [*t, eos]],
        by_appending,
        lambda t, bos, eos: ([bos, *t, eos][:-1], [bos, *t, eos][1:]),
    ],
    "pad-batch": [lambda s, p: pad(s, p), by_torch, plain],
}

WRONG = {
    "teacher-forcing": [
        (lambda tokens, bos, eos: (tokens[:], [*tokens[1:], eos]), "no-bos"),
        (lambda tokens, bos, eos: ([bos, *tokens[:-1]], tokens[:]), "no-eos"),
        (lambda tokens, bos, eos: ([bos, *tokens], tokens[:]), "no-eos"),
        (lambda tokens, bos, eos: 2 * ([bos, *tokens, eos],), "not-shifted"),
        (lambda tokens, bos, eos: (tokens[:], tokens[:]), "not-shifted"),
        (lambda tokens, bos, eos: ([bos, *tokens, eos], [*tokens, eos]), "eos-in-input"),
        (lambda tokens, bos, eos: ([*tokens, eos], [bos, *tokens]), "swapped"),
        (inserted, "in-place"),
        (grown, "input"),
        (lambda tokens, bos, eos: ([bos, *tokens], [bos, *tokens, eos]), "bos-in-output"),
        (lambda tokens, bos, eos: ([eos, *tokens], [*tokens, bos]), "markers-swapped"),
        (lambda tokens, bos, eos: ([eos, *tokens], [*tokens, eos]), "markers-swapped"),
        (lambda tokens, bos, eos: ([bos, *tokens], [eos, *tokens]), "rejected"),
        (lambda tokens, bos, eos: ([bos, *tokens[::-1]], [*tokens, eos]), "rejected"),
        (lambda tokens, bos, eos: ([2, *tokens], [*tokens, 3]), "markers-fixed"),
        (lambda tokens, bos, eos: ([bos, *set(tokens)], [*set(tokens), eos]), "rejected"),
        (lambda tokens, bos, eos: ([bos or 2, *tokens], [*tokens, eos]), "rejected"),
        (
            lambda tokens, bos, eos: list(zip([bos, *tokens], [*tokens, eos], strict=True)),
            "in-pairs",
        ),
        (
            lambda tokens, bos, eos: (torch.tensor([bos, *tokens]), torch.tensor([*tokens, eos])),
            "type",
        ),
    ],
    "pad-batch": [
        (lambda s, p: pad(s, p, longest=min), "cut"),
        (lambda s, p: pad(s, p, before=True), "padded-before"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[1].logical_not()), "mask-inverted"),
        (lambda s, p: pad(s, p, fresh=False), "shared-row"),
        (in_place, "in-place"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[0] != p), "mask-from-ids"),
        (lambda s, p: (by_torch(s, p)[0], by_torch(s, p)[0].ne(p)), "mask-from-ids"),
        (lambda s, p: (pad(s, 0)[0], pad(s, p)[1]), "zeros"),
        (lambda s, p: (pad(s, 0)[0], pad(s, 0)[0] != 0), "rejected"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[0] > 0), "rejected"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[1].int()), "dtype"),
        (lambda s, p: (pad(s, p)[0].float(), pad(s, p)[1]), "dtype"),
        (lambda s, p: (pad(s, p)[0].T, pad(s, p)[1].T), "time-first"),
        (lambda s, p: pad(s, p)[::-1], "rejected"),
        (lambda s, p: pad(s, p)[0], "type"),
        (longest_first, "sorted"),
        (lambda s, p: pad(s, p, width=5), "rejected"),
        (lambda s, p: pad(s, p, width=max(map(len, s)) + 1), "rejected"),
        (lambda s, p: (pad(s, p)[0].tolist(), pad(s, p)[1].tolist()), "type"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[1].sum(1)), "rejected"),
        (remembers_width, "state"),
    ],
}
