/* Which looks are cut, and how an address has them: "*-1.5-2" are all looks at source word 1, and the look
   of word 5 of the translation at source word 2. Places begin at 0; * stands for all. */

const ONE = /^(\*|\d{1,2})-(\*|\d{1,2})$/;
const MOST = 40;

/** From the address: what is no list of looks is undefined. */
export function fromAddress(text) {
  const names = text.split(".").filter(Boolean);
  return names.length <= MOST && names.every((name) => ONE.test(name)) ? [...new Set(names)].join(".") : undefined;
}

export const namesOf = (cut) => cut.split(".").filter(Boolean);

/** As the engine takes them: [place in the translation, place in the source], null stands for all. */
export const pairsOf = (cut) => namesOf(cut).map(pairOf);

export const pairOf = (name) => ONE.exec(name).slice(1).map((part) => (part === "*" ? null : Number(part)));

/** Cut what is whole, put back what is cut. */
export function toggled(cut, name) {
  const names = namesOf(cut);
  return (names.includes(name) ? names.filter((each) => each !== name) : [...names, name]).join(".");
}
