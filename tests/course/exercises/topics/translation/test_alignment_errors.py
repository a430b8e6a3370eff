import pytest

from attention_book.course.exercises import check


def count(links, gold):
    return sum(link in gold for link in links)


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda a, s, p: 1 - (count(a, s) + count(a, s)) / (len(a) + len(s)), "possible-ignored"),
        (lambda a, s, p: 1 - (count(a, s) + count(a, p)) / (len(a) + len(s)), "sure-not-possible"),
        (
            lambda a, s, p: 1 - (count(a, s) + count(a, s | p)) / (len(a) + len(s | p)),
            "divided-by-possible",
        ),
        (lambda a, s, p: (count(a, s) + count(a, s.union(p))) / (len(a) + len(s)), "agreement"),
    ],
)
def test_the_alignment_error_rate(answer, mistake):
    assert check(
        "alignment-error-rate",
        lambda a, s, p: 1 - (count(a, s) + count(a, s.union(p))) / (len(a) + len(s)),
    )
    assert check("alignment-error-rate", answer).mistake == mistake


def test_gold_links_are_not_to_be_changed():
    def careless(a, s, p):
        p |= s
        return 1 - (count(a, s) + count(a, p)) / (len(a) + len(s))

    assert check("alignment-error-rate", careless).law == "input"
