/* Beam search on the scores of a model: which prefixes are kept at each step, which are dropped, and what
   width and length penalty change. The same module runs in a page, in a notebook and in a file. */
import { oneOf } from "../page/address.mjs";
import { control } from "../page/controls.mjs";
import { figure } from "../page/figure.mjs";
import { inOneLanguage, number } from "../page/words.mjs";
import { explain, table } from "./beams/reading.mjs";
import { PENALTIES, WIDTHS, search } from "./beams/search.mjs";
import { draw } from "./beams/tree.mjs";

/** Step 0 is the last one, as any is that lies behind the end of the search. */
const begin = { data: null, language: "", width: 2, penalty: 0, step: 0 };
const address = {
  width: oneOf(WIDTHS), penalty: oneOf(PENALTIES),
  step: (text, model) => oneOf(Array.from({ length: model.get("data").longest }, (_, i) => i + 1))(text),
};

/** The search with its steps, the step that is shown, and what greedy search writes. */
export function compute({ data, width, penalty, step }) {
  const steps = search(data, width, penalty), [greedy] = search(data, 1, 0).at(-1).kept;
  return { steps, now: Math.min(step || steps.length, steps.length), best: steps.at(-1).kept[0], greedy };
}

/** One step on or back; after the last comes the first. */
const walk = (title, by) => ({
  kind: "action", title,
  change: (state) => {
    const { steps, now } = compute(state), count = steps.length;
    return { step: ((now - 1 + by + count) % count) + 1 };
  },
});

/** A search ends where it ends: its slider goes no further. */
const steps = ({ longest }) => ({
  kind: "custom", key: "step",
  build(host) {
    const { element, follow } = control({ kind: "slider", key: "step", title: ["步", "Step"], min: 1, max: longest, step: 1 }, host);
    return {
      element,
      follow(_, { steps, now }) {
        element.querySelector("input").max = steps.length;
        follow({ step: now });
      },
    };
  },
});

const shown = figure({
  begin, address, compute, draw, explain, table,
  title: ["束搜索的每一步：留下的前缀从好到坏排成一行，右边是淘汰的", "Every step of a beam search: the prefixes that are kept, best first, and to the right those that are dropped"],
  controls: ({ data }) => [
    { kind: "choice", key: "width", title: ["束宽", "Width"], options: WIDTHS.map((width) => [width, String(width)]) },
    { kind: "slider", key: "penalty", title: ["长度惩罚 α", "Length penalty α"], min: 0, max: PENALTIES.at(-1), step: 0.1, write: (alpha) => number(alpha, 1) },
    steps(data),
    walk(["‹ 上一步", "‹ Back"], -1), walk(["下一步 ›", "Next ›"], 1),
  ],
});

export default {
  ...shown,
  render({ model, el }) {
    const close = shown.render({ model, el });
    inOneLanguage(el.firstElementChild, model.get("language"));
    return close;
  },
};
