// What each page with Python loads: a button below the cells that can be changed and run, and an eye on
// exercises that come near. The editor (box.js) comes with the first of them, Python when it is to run.
(() => {
  "use strict";
  const { src, dataset } = document.currentScript, every = (what, act) => document.querySelectorAll(what).forEach(act);
  let coming;
  const add = (tag, place, name) => new Promise((onload, onerror) => {
    const address = new URL(`page_python/${name}?v=VERSION`, src);
    document.head.append(Object.assign(document.createElement(tag), { rel: "stylesheet", async: false, [place]: address, onload, onerror }));
  });
  const load = () => coming ??= Promise.all([add("link", "href", "box.css"), add("script", "src", "pages.js"), add("script", "src", "box.js")]);
  const open = (box) => load().then(() => pagePython.open(box), () => { coming = null; });
  window.pagePython = { page: dataset.page, load };

  const near = new IntersectionObserver((seen) => seen.forEach(({ isIntersecting, target }) => {
    if (isIntersecting) { near.unobserve(target); open(target); }
  }), { rootMargin: "100%" });
  every(".page-python[data-name]", (box) => near.observe(box));
  every(".py-cell", (cell) => {
    const button = document.createElement("button");
    button.className = "py-change";
    button.innerHTML = '<span class="bl bl-zh" lang="zh-Hans">改一改，再运行</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">Change and run</span>';
    button.onclick = () => open(cell);
    cell.append(button);
  });
})();
