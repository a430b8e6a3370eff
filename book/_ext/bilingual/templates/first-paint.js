(function () {
  var root = document.documentElement, known = /^(zh|en|both)$/, language = null;
  try {
    language = (new URLSearchParams(location.search).get("lang") || "").toLowerCase().split("-")[0];
    if (!known.test(language)) language = localStorage.getItem("book-language");
  } catch (e) {}
  if (!known.test(language)) language = /^zh/i.test(navigator.language || "") ? "zh" : "en";
  root.dataset.language = language;
  root.lang = language === "en" ? "en" : "zh-Hans";
})();
