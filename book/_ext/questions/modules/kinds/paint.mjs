/* Draw first, then compare: a row of weights, a profile, or a mask. The table of the page says what is drawn. */
import { both, el, freshId } from "../../page/words.mjs";
import { button, check, isLocked, lock, wordsOf } from "../parts.mjs";

/** How far two drawings are apart: the most in one place, as the build compares them; for a row what lies in the wrong
    places, for a profile the mean gap, so that a hand that drew the shape is near it; for a mask the cells. */
export function apart(kind, a, b) {
  const gaps = a.map((x, i) => Math.abs(x - b[i])), sum = gaps.reduce((x, y) => x + y, 0);
  return kind === "mask" ? sum : kind === "row" ? sum / 2 : sum / a.length;
}

/** The item that a drawing comes closest to: right within the tolerance, else a mistake that it resembles, else any other. */
export function judged({ paint, values, right, tolerance }, drawing) {
  const away = values.map((value) => (value === null ? Infinity : apart(paint, drawing, value)));
  if (away[right] <= tolerance + 1e-9) return { item: right, right: true };
  const [best] = values.map((_, item) => item).filter((item) => item !== right).sort((a, b) => away[a] - away[b]);
  const known = away[best] <= (paint === "mask" ? 1 : 0.12) && away[best] <= away[right];
  return { item: known ? best : values.indexOf(null), right: false };
}

export function paint(host) {
  const table = [...host.root.children].find((each) => each.matches("table, :has(table)")); // it may scroll in a box
  table.classList.add("question-drawn");
  const cells = [...table.querySelectorAll("thead tr > *")], rows = [...table.querySelectorAll("tbody tr > :first-child")];
  return host.data.paint === "mask" ? mask(host, rows.map(wordsOf), cells.slice(1).map(wordsOf)) : bars(host, rows, cells);
}

const percent = (value) => `${Math.round(100 * value)}%`;

function bars({ data, done }, rows, cells) {
  const isRow = data.paint === "row", columns = cells.slice(-data.values[data.right].length).map(wordsOf);
  const sliders = columns.map((words) => {
    const id = freshId(), input = el("input", { id, type: "range", min: 0, max: 100, step: 1, value: isRow ? 0 : 50, input: show });
    return { id, words, input, shown: el("output", { for: id }), mark: el("span", { class: "question-true", hidden: true }) };
  });
  const heights = () => sliders.map(({ input }) => Number(input.value) / 100);
  const drawing = () => {
    const found = heights(), sum = isRow ? found.reduce((a, b) => a + b, 0) : 1;
    return sum ? found.map((x) => x / sum) : found;
  };
  function show() {
    const shares = drawing();
    sliders.forEach(({ input, shown }, i) => {
      shown.textContent = percent(shares[i]);
      input.setAttribute("aria-valuetext", percent(shares[i]));
      input.style.setProperty("--fill", `${input.value}%`);
    });
    lock(go, isRow && !heights().some(Boolean));
  }
  const go = check(() => done(judged(data, drawing())), ["画好了", "Compare"]);
  const element = el("div", { class: "question-bars" },
    el("p", { class: "question-note" }, both(isRow
      ? ["拖动横条画出轻重；右边的百分数由各条之比算出。", "Drag the bars; the percentages follow from their proportions."]
      : ["拖动横条，每一条从 0% 到 100%。", "Drag the bars, each from 0% to 100%."])),
    sliders.map(({ id, words, input, mark, shown }) => el("div", { class: "question-bar" },
      el("label", { for: id }, words), el("span", { class: "question-track" }, input, mark), shown)), go);
  show();
  return {
    element,
    lock(locked) {
      sliders.forEach(({ input }) => { input.disabled = locked; });
      lock(go, locked || (isRow && !heights().some(Boolean)));
    },
    reveal() {
      const truth = data.values[data.right], scale = isRow ? Math.max(...heights(), 0.01) / Math.max(...truth) : 1, mine = drawing();
      sliders.forEach(({ mark, shown }, i) => {
        mark.hidden = false;
        mark.style.setProperty("--at", `${100 * truth[i] * scale}%`);
        shown.replaceChildren(`${percent(mine[i])} → `, el("b", {}, percent(truth[i])));
      });
    },
    reset() {
      sliders.forEach(({ input, mark }) => {
        input.value = isRow ? 0 : 50;
        mark.hidden = true;
      });
      show();
    },
    focus: () => sliders[0].input.focus(),
  };
}

function mask({ data, done }, rows, columns) {
  let brush = null;
  const cells = rows.map((_, i) => columns.map((__, j) => button({
    class: "question-cell", tabindex: i || j ? -1 : 0, "aria-pressed": "false", keydown: (event) => walk(event, i, j),
    pointerdown: (event) => {
      event.currentTarget.releasePointerCapture?.(event.pointerId); // a finger's way over the other cells is heard there
      brush = !on(i, j);
      turn(i, j, brush);
    },
    pointerenter: (event) => { if (event.buttons && brush !== null) turn(i, j, brush); },
  }, (event) => { if (!event.detail) turn(i, j, !on(i, j)); }))); // from the keyboard: a pointer has done it already
  addEventListener("pointerup", () => { brush = null; });
  const on = (i, j) => cells[i][j].getAttribute("aria-pressed") === "true";
  const turn = (i, j, value) => { if (!isLocked(cells[i][j])) cells[i][j].setAttribute("aria-pressed", String(value)); };
  function walk(event, i, j) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    const to = cells[Math.min(Math.max(i + down, 0), rows.length - 1)][Math.min(Math.max(j + right, 0), columns.length - 1)];
    cells.flat().forEach((cell) => { cell.tabIndex = cell === to ? 0 : -1; });
    to.focus();
  }
  const heads = (labels, scope) => labels.map((words) => el("th", { scope, id: freshId() }, words));
  const above = heads(columns, "col"), left = heads(rows, "row");
  cells.forEach((row, i) => row.forEach((cell, j) => cell.setAttribute("aria-labelledby", `${left[i].id} ${above[j].id}`)));
  const go = check(() => done(judged(data, cells.flatMap((row, i) => row.map((_, j) => Number(on(i, j)))))), ["画好了", "Compare"]);
  const element = el("div", {}, el("p", { class: "question-note" }, both(
    ["点一格涂上或擦掉，按住拖过去就连着涂；键盘用方向键和空格。", "Press a cell to paint or clear it, or drag across several; on a keyboard, arrows and the space bar."])),
  el("div", { class: "question-scroll" }, el("table", { class: "question-mask" }, el("thead", {}, el("tr", {}, el("td"), above)),
    el("tbody", {}, left.map((head, i) => el("tr", {}, head, cells[i].map((cell) => el("td", {}, cell))))))), go);
  return {
    element,
    lock: (locked) => [...cells.flat(), go].forEach((each) => lock(each, locked)),
    reveal() {
      cells.flat().forEach((cell, place) => {
        const value = data.values[data.right][place], mine = Number(cell.getAttribute("aria-pressed") === "true");
        cell.classList.add(mine === value ? "right" : value ? "missing" : "extra");
      });
    },
    reset() {
      for (const cell of cells.flat()) {
        cell.classList.remove("right", "missing", "extra");
        cell.setAttribute("aria-pressed", "false");
      }
    },
    focus: () => cells[0][0].focus(),
  };
}
