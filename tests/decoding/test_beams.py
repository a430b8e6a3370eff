"""How beginnings grow, and when there is nothing more to hope for."""

import itertools

import torch

from attention_book.decoding.beams import Beams, continued, settled
from attention_book.decoding.prediction import next_log_probs
from attention_book.text import EOS, PAD, SpecialIds


def grown(steps: int, *, width: int, length_penalty: float = 0.0) -> list[Beams]:
    generator = torch.Generator().manual_seed(3)
    history = [Beams.start(5, torch.device("cpu"))]
    for _ in range(steps):
        logits = torch.randn(5, history[-1].width, 7, generator=generator).double()
        logits[..., EOS] += 1
        log_probs = next_log_probs(logits.flatten(0, 1), SpecialIds()).unflatten(
            0, logits.shape[:2]
        )
        history.append(
            continued(history[-1], log_probs, count=width, length_penalty=length_penalty)
        )
    return history


def test_a_finished_beam_stays_as_it_is() -> None:
    history = grown(6, width=3)
    stayed = 0
    for before, after in itertools.pairwise(history):
        both = zip(before.hypotheses(0.0), after.hypotheses(0.0), strict=True)
        for sentence, (old, new) in enumerate(both):
            for beam, parent in enumerate(after.parents[sentence].tolist()):
                if before.open[sentence, parent]:
                    assert new[beam].ids[: len(old[parent].ids)] == old[parent].ids
                    assert new[beam].log_prob < old[parent].log_prob
                else:
                    stayed += 1
                    assert new[beam] == old[parent]
                    assert after.ids[sentence, beam, -1] == PAD
    assert stayed > 20


def test_beams_are_sorted_and_different() -> None:
    for length_penalty in (0.0, 1.0):
        for beams in grown(6, width=4, length_penalty=length_penalty)[1:]:
            assert (beams.scores.diff(dim=1) <= 0).all()
            for found in beams.hypotheses(length_penalty):
                assert len({(h.ids, h.finished) for h in found}) == len(found) == 4


def test_there_are_no_more_beams_than_words() -> None:
    assert [len(beams.hypotheses(0.0)[0]) for beams in grown(1, width=50)] == [1, 5]


def with_scores(last: list[int], log_probs: list[float]) -> Beams:
    """One sentence's beams after two tokens."""
    ids = torch.tensor([[[5, token] for token in last]])
    numbers, zeros = torch.tensor([log_probs]), torch.zeros(1, len(last), dtype=torch.long)
    return Beams(ids, numbers, numbers, zeros + 2, zeros)


def test_it_is_settled_when_no_open_beam_can_catch_up() -> None:
    limit = torch.tensor([7])

    def is_settled(beams: Beams, num_best: int = 1, length_penalty: float = 0.0) -> bool:
        return bool(settled(beams, limit, num_best=num_best, length_penalty=length_penalty))

    leading = with_scores([EOS, 6, PAD], [-1.0, -1.5, -3.0])
    assert is_settled(leading)
    assert not is_settled(leading, num_best=2)
    # At the limit the factor is 2: the open beam could still come to -0.75.
    assert not is_settled(leading, length_penalty=1.0)
    assert is_settled(with_scores([EOS, 6], [-1.0, -2.1]), length_penalty=1.0)
    assert not is_settled(with_scores([6, EOS], [-1.0, -1.5]))
    assert is_settled(with_scores([PAD, EOS], [-1.0, -1.5]), num_best=2)
    limit = torch.tensor([2])
    assert is_settled(with_scores([6, 6], [-1.0, -1.5]))
