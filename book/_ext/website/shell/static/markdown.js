/* “Copy as Markdown”: the page's text comes in a script, for a page from a folder may load it in no other way. Where that fails the link opens the text. */
(function () {
  "use strict";
  let arrive = null;
  window.attentionBookMarkdown = (text) => arrive?.(text);

  const textOf = (link) => new Promise((resolve, reject) => {
    arrive = resolve;
    const script = document.createElement("script");
    script.src = `${link.href}.js`;
    script.onerror = () => reject(new Error("no text"));
    document.head.append(script);
    script.remove(); // it is loaded all the same
  });

  const said = document.getElementById("page-said");
  document.querySelectorAll("a[class*='btn-markdown-']").forEach((link) => {
    const words = link.querySelector("span[lang]");
    const before = words.textContent, copied = words.lang === "en" ? "Copied" : "已复制";
    link.addEventListener("click", async (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation(); // the menu stays open, and says that it is done
      try {
        await navigator.clipboard.writeText(await textOf(link));
      } catch (e) {
        location.href = link.href;
        return;
      }
      words.textContent = said.textContent = copied;
      setTimeout(() => {
        words.textContent = before;
        said.textContent = "";
      }, 1500);
    });
  });
})();
