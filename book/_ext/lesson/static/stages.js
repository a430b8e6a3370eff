/* A drawing in stages: whole at first, then one at a time, by button or by arrow key. */
(function () {
  "use strict";

  /* "3" stands from stage 3 on, "2-4" in stages 2 to 4. What will stay once it has come is pale
     until then, so that the drawing never looks empty. */
  function absence(range, stage) {
    const [first, last] = range.split("-").map(Number);
    if (first <= stage && stage <= (last || Infinity)) return null;
    return last ? "gone" : "later";
  }

  function mark(part, stage) {
    const absent = absence(part.dataset.stage, stage);
    if (absent) part.dataset.off = absent;
    else delete part.dataset.off;
  }

  function start(figure) {
    const parts = [...figure.querySelectorAll("[data-stage]")];
    const sentences = [...figure.querySelectorAll(".legend > ol > li")];
    const sentence = figure.querySelector(".stages-sentence");
    const buttons = [...figure.querySelectorAll("button[data-step]")];
    let stage = 0; // the whole

    function show(wanted) {
      const next = Math.min(Math.max(wanted, 1), sentences.length);
      if (next === stage) return;
      stage = next;
      parts.forEach((part) => mark(part, stage));
      figure.querySelector(".stages-now").textContent = stage;
      sentence.replaceChildren(...sentences[stage - 1].cloneNode(true).childNodes);
      sentence.querySelectorAll("p").forEach((paragraph) => paragraph.replaceWith(...paragraph.childNodes));
      buttons.forEach((button) => { // not `disabled`: the button must not lose the focus
        const isLast = button.dataset.step === "1" ? stage === sentences.length : stage === 1;
        button.setAttribute("aria-disabled", String(isLast));
      });
    }

    buttons.forEach((button) => button.addEventListener("click", () => show(stage + Number(button.dataset.step))));
    figure.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const wanted = { ArrowLeft: stage - 1, ArrowRight: stage + 1, Home: 1, End: sentences.length }[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      show(wanted);
    });
    figure.tabIndex = 0;
    figure.classList.add("in-stages");
    parts.filter((part) => part.dataset.stage.includes("-")).forEach((part) => (part.dataset.off = "gone"));
  }

  document.querySelectorAll("figure.stages").forEach(start);
})();
