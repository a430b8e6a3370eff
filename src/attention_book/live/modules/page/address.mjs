/* What an address may say: text → value, or undefined where the text is none of the values. */

/** A number from least to most. */
export const between = (least, most) => (text) =>
  text.trim() !== "" && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;

/** One of a few values, each as it is written. */
export const oneOf = (values) => (text) => values.find((value) => String(value) === text);

/** So many digits of 0 and 1. */
export const bits = (count) => (text) => (/^[01]*$/.test(text) && text.length === count ? text : undefined);
