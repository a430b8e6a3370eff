// What each page with Python loads: a button below the cells that can be changed and run, and an eye on
// exercises that come near. The editor (box.js) comes with the first of them, Python when it is to run.
(() => {
  "use strict";
  const { src, dataset } = document.currentScript, every = (what, act) => document.querySelectorAll(what).forEach(act);
  let coming, file;
  const add = (tag, place, name) => new Promise((onload, onerror) => {
    const address = new URL(`page_python/${name}?v=VERSION`, src);
    document.head.append(Object.assign(document.createElement(tag), { rel: "stylesheet", async: false, [place]: address, onload, onerror }));
  });
  const load = () => coming ??= Promise.all([add("link", "href", "box.css"), add("script", "src", "pages.js"), add("script", "src", "box.js")]);
  const loadFor = (box) => (box.matches(".own-file") ? load().then(() => file ??= add("script", "src", "own_file.js")) : load());
  const open = (box) => loadFor(box).then(() => pagePython.open(box), () => { coming = file = null; });
  window.pagePython = { page: dataset.page, load };

  const near = new IntersectionObserver((seen) => seen.forEach(({ isIntersecting, target }) => {
    if (isIntersecting) { near.unobserve(target); open(target); }
  }), { rootMargin: "0px 0px 100%" });
  every(".page-python[data-name]", (box) => near.observe(box));
  const offer = (zh, en) => (box) => {
    const button = document.createElement("button");
    button.className = "py-change";
    button.innerHTML = `<span class="bl bl-zh" lang="zh-Hans">${zh}</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">${en}</span>`;
    button.onclick = () => open(box);
    box.append(button);
  };
  every(".py-cell", offer("改一改，再运行", "Change and run"));
  every(".own-file[id]", offer("在这里写", "Write it here"));
})();
