// What each page with Python loads: a button below the cells that can be changed and run, and an eye on
// exercises that come near. The editor (box.js) comes with the first of them, Python when it is to run.
(() => {
  "use strict";
  const { src, dataset } = document.currentScript;
  const address = (name) => new URL(`page_python/${name}?v=VERSION`, src);
  let coming;
  const add = (tag, properties) => new Promise((resolve, reject) => {
    document.head.append(Object.assign(document.createElement(tag), { ...properties, async: false, onload: resolve, onerror: reject }));
  });
  const load = () => coming ??= Promise.all([
    add("link", { rel: "stylesheet", href: address("box.css") }), add("script", { src: address("pages.js") }), add("script", { src: address("box.js") }),
  ]).catch(() => { coming = undefined; });
  const open = async (box) => { await load(); pagePython.open?.(box); };
  window.pagePython = { page: dataset.page, load };

  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) { near.unobserve(target); open(target); }
  }, { rootMargin: "100%" });
  document.querySelectorAll(".page-python[data-name]").forEach((box) => near.observe(box));
  for (const cell of document.querySelectorAll(".py-cell")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "py-change";
    button.innerHTML = '<span class="bl bl-zh" lang="zh-Hans">改一改，再运行</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">Change and run</span>';
    button.onclick = () => open(cell);
    cell.append(button);
  }
})();
