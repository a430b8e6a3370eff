/* When to ask again: FSRS-6 with its default parameters, in whole days. PyPI's fsrs gives the same numbers, and a test
   compares them. A card is { s, d, last }: its stability (the days after which 90 % is remembered), its difficulty from 1
   to 10, and the day it was last asked. Grades: 1 again, 2 hard, 3 good, 4 easy. */

const W = [0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835, 0.0614, 0.2629,
  1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542];
const DECAY = -W[20], FACTOR = 0.9 ** (1 / DECAY) - 1;
const within = (least, most, x) => Math.min(Math.max(x, least), most);

/** The chance that a card is remembered on a day. */
export const remembered = (card, day) => (1 + FACTOR * Math.max(0, day - card.last) / card.s) ** DECAY;

/** The days until that chance has fallen to `retention`. */
export const interval = (s, retention) =>
  within(1, 36500, Math.round((s / FACTOR) * (retention ** (1 / DECAY) - 1)));

/** The card after it was asked; one that is not there yet is new. What else is asked on its day is practice, and changes nothing. */
export function asked(card, grade, day) {
  if (!card) return { s: W[grade - 1], d: within(1, 10, firstDifficulty(grade)), last: day };
  if (day <= card.last) return card;
  const missed = 1 - remembered(card, day);
  const s = grade === 1
    ? Math.min(W[11] * card.d ** -W[12] * ((card.s + 1) ** W[13] - 1) * Math.exp(W[14] * missed), card.s / Math.exp(W[17] * W[18]))
    : card.s * (1 + Math.exp(W[8]) * (11 - card.d) * card.s ** -W[9] * Math.expm1(W[10] * missed) *
        (grade === 2 ? W[15] : 1) * (grade === 4 ? W[16] : 1));
  return { s: Math.max(s, 0.001), d: nextDifficulty(card.d, grade), last: day };
}

const firstDifficulty = (grade) => W[4] - Math.exp(W[5] * (grade - 1)) + 1;
const nextDifficulty = (d, grade) =>
  within(1, 10, W[7] * firstDifficulty(4) + (1 - W[7]) * (d - W[6] * (grade - 3) * (10 - d) / 9));
