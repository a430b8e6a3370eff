/* A pass with its tokens as a reader can take them: subwords without the marks of their method. */
import { alone, textOf } from "../translator/pieces.mjs";

/** `example`: which kind of tokens they are (subwords, target, capitals). */
export function named(found, example) {
  const { subwords = false, target: language } = example, { source, input, target } = found;
  const list = (tokens) => alone(tokens, subwords), one = (each) => ({ ...each, word: list([each.word])[0] });
  return {
    ...found, subwords, raw: { source, input, target }, source: list(source), input: list(input), target: list(target),
    out: found.out.map((each) => ({ ...each, best: each.best.map(one) })),
    readings: found.readings.map((station) => station.map((best) => best.map(one))),
    // What is written before each word, as a text.
    soFar: input.map((_, i) => (i ? (subwords ? textOf(input.slice(1, i + 1), language, { subwords }) : input.slice(1, i + 1).join(" ")) : "")),
  };
}
