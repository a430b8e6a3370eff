/* A link to a term of the glossary opens the entry beside it; where that fails it is a link as any other. */
(function () {
  "use strict";
  const here = document.currentScript.src, root = new URL("../", here);
  const TERM = "article a[href*='#term-'], .term-card a[href*='#term-']";
  let arriving = null;
  if (!HTMLElement.prototype.showPopover) return;

  function entries() {
    arriving ||= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("glossary-terms.js", here);
      script.onload = () => resolve(window.bookTerms);
      script.onerror = () => {
        arriving = null; // the next time tries again
        reject(new Error("no entries"));
      };
      document.head.append(script);
    });
    return arriving;
  }

  const card = document.createElement("div");
  card.className = "term-card bd-article";
  card.popover = "auto";
  card.tabIndex = -1;
  card.setAttribute("role", "dialog");

  function show(link, [page, entry]) {
    card.innerHTML = `<dl class="glossary">${entry}</dl><p class="term-card-more"><a href="${page}#${idOf(link)}"><span class="bl bl-zh" lang="zh-Hans">在术语表里看</span><span class="bl-sep"> </span><span class="bl bl-en" lang="en">See it in the glossary</span></a></p>`;
    card.querySelectorAll("a[href]").forEach((each) => { // written as seen from the glossary
      each.href = new URL(each.getAttribute("href"), new URL(page, root));
    });
    card.setAttribute("aria-label", card.querySelector("dt").textContent.trim());
    if (card.contains(link) || card.matches(":popover-open")) return;
    if (!card.isConnected) document.body.append(card);
    const place = link.getClientRects()[0] ?? link.getBoundingClientRect();
    card.showPopover();
    const width = document.documentElement.clientWidth, left = Math.min(place.left, width - card.offsetWidth - 8);
    const below = place.bottom + 6, above = place.top - card.offsetHeight - 6;
    const top = below + card.offsetHeight > innerHeight && above > 0 ? above : below;
    card.style.left = `${Math.max(left, 8) + scrollX}px`;
    card.style.top = `${top + scrollY}px`;
    card.focus({ preventScroll: true });
  }

  const idOf = (link) => decodeURIComponent(link.hash.slice(1));
  const termAt = (event) => event.target.closest?.(TERM);
  const ahead = (event) => termAt(event) && entries().catch(() => {});
  addEventListener("pointerover", ahead);
  addEventListener("focusin", ahead);
  document.addEventListener("click", async (event) => {
    const link = termAt(event);
    if (!link || link.closest("dl.glossary") && !card.contains(link) || link.closest(".term-card-more")) return;
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link.matches(".headerlink")) return;
    event.preventDefault();
    const entry = (await entries().catch(() => null))?.[idOf(link)];
    if (entry) show(link, entry);
    else location.href = link.href;
  });
})();
