"""What answers a reader stands where one has to turn to it: behind the chapter, or the book.

Beside its exercise an open solution is read before one has thought.
"""

from __future__ import annotations

from lxml import etree, html

from pages.one_language import Element, class_is, has_class

WORDS = {
    "zh": {
        "answers": "各题的答案",
        "answer_to": "第 {} 题",
        "solutions": "解答",
        "solution_to": "{}的解答",
    },
    "en": {
        "answers": "Answers to the questions",
        "answer_to": "Question {}",
        "solutions": "Solutions",
        "solution_to": "Solution to {}",
    },
}
ANSWERS, SOLUTIONS = "answers-printed", "solutions-printed"  # no page has such ids


def take_answers(article: Element, language: str, to_answer: str) -> Element | None:
    """Take the answer of each question out of a chapter, number both, and link the two.

    ``to_answer`` is what leads from a question to its answer: "Question {}, answer at the end".
    Returns a section of all answers, None where there is no question.
    """
    questions = article.xpath(f".//div[({class_is('question')}) and {class_is('admonition')}]")
    if not questions:
        return None
    section = section_of(ANSWERS, WORDS[language]["answers"])
    for number, question in enumerate(questions, start=1):
        (answer,) = question.xpath(f"./details[{class_is('question-answer')}]")
        answer.tag, answer.tail = "div", None
        answer.attrib.clear()
        answer.set("class", "printed-answer")
        answer.set("id", f"answer-{number}")
        (summary,) = answer.xpath("./summary")
        summary.tag = "p"
        name_by(summary, question.get("id"), WORDS[language]["answer_to"].format(number))
        lead_to(question, answer.get("id"), to_answer.format(number))
        section.append(answer)
    return section


def take_solutions(article: Element, language: str, to_solution: str) -> Element | None:
    """Take each solution out of a chapter, name it by its exercise, and link the two.

    Returns a section of all solutions, None where there are none.
    """
    found = article.xpath(f".//div[({class_is('solution')}) and {class_is('admonition')}]")
    if not found:
        return None
    section = section_of(SOLUTIONS, WORDS[language]["solutions"])
    for solution in found:
        exercise = exercise_before(solution)
        tail, solution.tail = solution.tail, None
        before, parent = solution.getprevious(), solution.getparent()
        section.append(solution)
        if tail and before is not None:
            before.tail = (before.tail or "") + tail
        elif tail:
            parent.text = (parent.text or "") + tail
        if exercise is None or not solution.get("id"):
            continue
        numbers = exercise.xpath(".//*[contains(@class, 'caption-number')]")
        titles = solution.xpath("./p[contains(@class, 'admonition-title')]")
        if numbers and titles and exercise.get("id"):
            number = " ".join(numbers[0].text_content().split())
            title = WORDS[language]["solution_to"].format(number)
            name_by(titles[0], exercise.get("id"), title)
            lead_to(exercise, solution.get("id"), to_solution)
    return section


def exercise_before(solution: Element) -> Element | None:
    before = solution.getprevious()
    return before if before is not None and has_class(before, "exercise") else None


def section_of(identifier: str, title: str) -> Element:
    section = html.Element("section", {"class": "solutions", "id": identifier})
    etree.SubElement(section, "h2").text = title
    return section


def name_by(title: Element, identifier: str, words: str) -> None:
    """Make a title a link to what it answers."""
    for child in list(title):
        title.remove(child)
    title.text = None
    etree.SubElement(title, "a", {"href": f"#{identifier}"}).text = words


def lead_to(box: Element, identifier: str, words: str) -> None:
    line = etree.SubElement(box, "p", {"class": "to-solution"})
    etree.SubElement(line, "a", {"href": f"#{identifier}"}).text = words
