/* Weights as ink: a path for each of a few strengths, however many cells there are. A map of 60 × 130
   cells, one element each, would block the page; so would drawing what nobody can see. */
import { shade } from "../../page/ramp.mjs";
import { svg } from "../../page/words.mjs";

export const FAINT = 0.005;
const STRENGTHS = 20;

/** The paths of all weights of at least `threshold`. Cells have a gap between them where there is room. */
export function ink({ weights, columns, threshold = 0, cell, x = 0, y = 0 }) {
  const least = Math.max(threshold, FAINT), gap = cell >= 10 ? 1 : 0, paths = new Array(STRENGTHS + 1).fill("");
  for (let i = 0, at = 0; at < weights.length; i++, at += columns) {
    for (let j = 0; j < columns; j++) {
      if (!(weights[at + j] >= least)) continue;
      const strength = strengthOf(weights[at + j]), start = j;
      // Small cells of one strength that touch are one bar.
      while (!gap && j + 1 < columns && weights[at + j + 1] >= least && strengthOf(weights[at + j + 1]) === strength) j++;
      const width = (j + 1 - start) * cell - gap, height = cell - gap;
      paths[strength] += `M${x + start * cell} ${y + i * cell}h${width}v${height}h-${width}z`;
    }
  }
  return paths.flatMap((d, strength) => (d ? [svg("path", { class: "live-ink", d, fill: shade(strength / STRENGTHS) })] : []));
}

const strengthOf = (weight) => Math.min(STRENGTHS, Math.max(1, Math.round(weight * STRENGTHS)));

/** The same map in at most `most` rows and columns: each cell is the greatest of those that it stands for. */
export function pooled({ weights, rows, columns }, most) {
  const by = Math.max(1, Math.ceil(Math.max(rows, columns) / most));
  const height = Math.ceil(rows / by), width = Math.ceil(columns / by);
  const found = new Float32Array(height * width);
  weights.forEach((each, at) => {
    const i = Math.floor(Math.floor(at / columns) / by), j = Math.floor((at % columns) / by);
    if (each > found[i * width + j]) found[i * width + j] = each;
  });
  return { weights: found, rows: height, columns: width };
}

/** A map of this width, turned where its keys are read from right to left. */
export const mirrored = ({ directions }, width, drawn) => (directions[1] === "rtl"
  ? svg("g", { transform: `translate(${width} 0) scale(-1 1)` }, drawn) : drawn);
