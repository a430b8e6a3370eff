/* Starts a deck. A classic script, so that it runs from a double-clicked file too. */
(function () {
  "use strict";
  const SMALLEST = 0.5, STEP = 0.05;
  const BOXES = ".formula, .table, .highlight pre, .told, .beside, .live, .live *, .exercises";

  const isOver = (box) => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
  const isBox = (box) => box.clientWidth && !box.closest("svg, .katex, .live-hidden") && getComputedStyle(box).display !== "inline";

  const frames = (count) => new Promise((resolve) => {
    const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : resolve());
    next(count);
  });

  /* What does not fit is made smaller, no further than one can read. A live figure draws itself anew
     for the room that it has then, a frame later. */
  async function fit(slide) {
    const page = slide && slide.querySelector(":scope > .page");
    if (!page || page.dataset.fitted || !page.clientHeight) return;
    const live = page.querySelector("[data-live]") ? 3 : 0;
    await frames(live || 1);
    const boxes = [...page.querySelectorAll(BOXES)].filter(isBox);
    const figure = page.querySelector(".live-figure > div");
    const over = () => isOver(page) || boxes.some(isOver) || (figure && reachesOut(figure, page));
    let scale = 1;
    while (over() && scale > SMALLEST) {
      page.style.setProperty("--scale", (scale -= STEP).toFixed(2));
      if (live) await frames(live);
    }
    page.dataset.fitted = scale.toFixed(2);
  }
  function reachesOut(figure, page) {
    return figure.getBoundingClientRect().bottom > page.getBoundingClientRect().bottom - 8;
  }

  Reveal.on("ready", (event) => fit(event.currentSlide));
  Reveal.on("slidechanged", (event) => fit(event.currentSlide));
  Reveal.on("pdf-ready", () => document.querySelectorAll(".slides section").forEach(fit));

  Reveal.initialize({
    width: 1280, height: 720, margin: 0.03, center: false, hash: true, transition: "none",
    slideNumber: "c/t", controlsTutorial: false, pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1,
    plugins: [RevealNotes],
  });
})();
