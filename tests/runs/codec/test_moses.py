"""The rules of Moses, as sacremoses has them; plain prose comes back as it was."""

import pytest
import sacremoses

from attention_book.runs.codec import Moses

PROSE = {
    "en": "Tom's dog isn't here, is it? It cost $3.50 (cheap) & more.",
    "fr": "L'homme n'est pas là, il l'a dit.",
    "de": "Die alten Häuser kosten z. B. 3,50 €.",
    "cs": "Dům je starý, že ano?",
    "xx": "Some other language, with English rules.",
}


@pytest.mark.parametrize("language", PROSE)
def test_prose_comes_back(language):
    moses = Moses(language)
    assert moses.join(moses.split(PROSE[language])) == PROSE[language]


@pytest.mark.parametrize("language", PROSE)
def test_the_words_are_those_of_the_library(language):
    expected = sacremoses.MosesTokenizer(language).tokenize(PROSE[language], escape=False)
    assert Moses(language).split(PROSE[language]).split(" ") == expected


def test_nothing_is_escaped():
    assert Moses("en").split('a & b\'s "c" [d] |') == 'a & b \'s " c " [ d ] |'
    assert Moses("en").join("a &amp; b") == "a &amp; b"
