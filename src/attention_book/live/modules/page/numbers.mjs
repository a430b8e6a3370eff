/* What figures compute as the package does. */

export const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);

/** Weights that sum to 1. */
export function softmax(scores) {
  const top = Math.max(...scores), powers = scores.map((score) => Math.exp(score - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}
