import pytest
import torch

from attention_book.course.exercises import check


def grown(tokens, bos, eos):
    tokens.append(eos)
    return [bos, *tokens[:-1]], tokens


def inserted(tokens, bos, eos):
    shifted = [*tokens, eos]
    tokens.insert(0, bos)
    return tokens, shifted


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda tokens, bos, eos: (tokens[:], [*tokens[1:], eos]), "no-bos"),
        (lambda tokens, bos, eos: ([bos, *tokens[:-1]], tokens[:]), "no-eos"),
        (lambda tokens, bos, eos: 2 * ([bos, *tokens, eos],), "not-shifted"),
        (lambda tokens, bos, eos: ([bos, *tokens, eos], [*tokens, eos]), "eos-in-input"),
        (lambda tokens, bos, eos: ([*tokens, eos], [bos, *tokens]), "swapped"),
        (inserted, "in-place"),
    ],
)
def test_teacher_forcing(answer, mistake):
    assert check("teacher-forcing", lambda t, bos, eos: [[bos, *t], [*t, eos]])
    assert check("teacher-forcing", answer).mistake == mistake


def test_another_way_to_change_the_corpus_is_found_too():
    verdict = check("teacher-forcing", grown)
    assert verdict.law == "input"


def pad(sentences, padding, *, before=False, longest=max, fresh=True):
    width = longest(len(row) for row in sentences)
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


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda s, p: pad(s, p, longest=min), "cut"),
        (lambda s, p: pad(s, p, before=True), "padded-before"),
        (lambda s, p: (pad(s, p)[0], pad(s, p)[1].logical_not()), "mask-inverted"),
        (lambda s, p: pad(s, p, fresh=False), "shared-row"),
        (in_place, "in-place"),
    ],
)
def test_pad_batch(answer, mistake):
    assert check("pad-batch", lambda s, p: pad(s, p))
    assert check("pad-batch", answer).mistake == mistake


def test_a_mask_of_numbers_is_refused():
    assert check("pad-batch", lambda s, p: (pad(s, p)[0], pad(s, p)[1].int())).law == "dtype"
