"""Answers to the exercise on the alignment error rate."""


def count(links, gold):
    return sum(link in gold for link in links)


def right(a, s, p):
    return 1 - (count(a, s) + count(a, s.union(p))) / (len(a) + len(s))


def careless(a, s, p):
    p |= s
    return 1 - (count(a, s) + count(a, p)) / (len(a) + len(s))


def f_measure(a, s, p):
    precision, recall = len(a & (s | p)) / len(a), len(a & s) / len(s)
    return 1 - 2 * precision * recall / (precision + recall) if precision + recall else 1.0


def wrong_both(a, s, p):
    """Count what was drawn wrongly and what is missing."""
    return (len(a - s - p) + len(s - a)) / (len(a) + len(s))


RIGHT = {
    "alignment-error-rate": [
        right,
        lambda a, s, p: (len(a) + len(s) - len(a & s) - len(a & (s | p))) / (len(a) + len(s)),
        lambda a, s, p: wrong_both(a, s, p),
    ]
}

WRONG = {
    "alignment-error-rate": [
        (lambda a, s, p: 1 - (count(a, s) + count(a, s)) / (len(a) + len(s)), "possible-ignored"),
        (lambda a, s, p: 1 - (count(a, s) + count(a, p)) / (len(a) + len(s)), "sure-not-possible"),
        (
            lambda a, s, p: 1 - (count(a, s) + count(a, s | p)) / (len(a) + len(s | p)),
            "divided-by-possible",
        ),
        (lambda a, s, p: (count(a, s) + count(a, s.union(p))) / (len(a) + len(s)), "agreement"),
        (careless, "input"),
        (lambda a, s, p: 1 - len(a & (s | p)) / len(a), "precision-alone"),
        (lambda a, s, p: 1 - len(a & s) / len(s), "recall-alone"),
        (f_measure, "f-measure"),
        (lambda a, s, p: 100 * right(a, s, p), "percent"),
        (lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / len(a | s), "rejected"),
        (lambda a, s, p: 1 - (len(a & s) + len(a & (s | p))) / (2 * len(a)), "rejected"),
        (lambda a, s, p: 1 - len(a & (s | p)) / (len(a) + len(s)), "rejected"),
        (lambda a, s, p: 1 - 2 * len(a & (s | p)) / (len(a) + len(s)), "sure-not-counted"),
        (lambda a, s, p: 1 - (len(a & s) + len(a & (s & p))) / (len(a) + len(s)), "rejected"),
        (lambda s, a, p: right(a, s, p), "rejected"),
        (lambda a, s, p: round(right(a, s, p), 2), "rounded"),
        (lambda a, s, p: [right(a, s, p)], "type"),
    ]
}
