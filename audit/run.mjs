/* Audit the built site: axe on every page, Lighthouse on a page of maths and on the front page (or
   on the pages that are named), the weight of chapters.

   node audit/run.mjs [--pages masks.html,scoring.html] [--skip axe,lighthouse,weight] [--runs 3]
   BOOK_HTML names another build, CHROME_PATH another browser.  Exits with 1 if a bound breaks. */

import { createReadStream, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import lighthouse, { desktopConfig } from "lighthouse";
import puppeteer from "puppeteer-core";

const here = path.dirname(fileURLToPath(import.meta.url));
const site = path.resolve(process.env.BOOK_HTML || path.join(here, "..", "book", "_build", "html"));
const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1 || Infinity];
const skipped = (name) => (option("skip") || "").split(",").includes(name);

const LANGUAGES = ["zh", "en", "both"];
const THEMES = ["light", "dark"];
const WIDTHS = [1280, 390];
const MATHS_PAGE = "masks.html";
const FRONT_PAGE = "intro.html";
const BOUNDS = {
  desktop: { performance: 100, accessibility: 100, "best-practices": 100, seo: 100 },
  mobile: { performance: 97, accessibility: 100, "best-practices": 100, seo: 100 },
  kilobytes: 300, // a chapter without its figures
  undecided: 100, // what axe and the measuring of contrast leave to people, on a page in one view
};
const RUNS = Number(option("runs") ?? 3); // Lighthouse's performance varies: the median counts
const TYPES = {
  ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
  ".woff2": "font/woff2", ".png": "image/png", ".json": "application/json", ".ipynb": "application/json",
};

/** Serve the site as a web host would, compressed. */
function serve() {
  const packed = new Map();
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const file = path.join(site, name === "/" ? "index.html" : name);
    if (!file.startsWith(site) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[path.extname(file)] || "application/octet-stream";
    const headers = { "content-type": type, "cache-control": "max-age=600" };
    if (/^(text|application|image\/svg)/.test(type)) {
      if (!packed.has(file)) packed.set(file, zlib.gzipSync(readFileSync(file), { level: 9 }));
      response.writeHead(200, { ...headers, "content-encoding": "gzip", vary: "accept-encoding" });
      response.end(packed.get(file));
    } else {
      response.writeHead(200, headers);
      createReadStream(file).pipe(response);
    }
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

function pages() {
  const all = readdirSync(site, { recursive: true }).map(String).filter((name) => name.endsWith(".html"));
  const wanted = option("pages")?.split(",");
  return all.filter((name) => !name.startsWith("_") && name !== "index.html" && (!wanted || wanted.includes(name))).sort();
}

/** A reader who wants no text folded below a question: all of it is looked at. */
const FOLDS_NOTHING = `localStorage["attention-book-questions"] ??= JSON.stringify(
  { version: 1, cards: {}, log: [], lines: {}, settings: { mode: "open" } })`;

/** The contents beside the text scroll by themselves, and axe takes what lies below for covered by them: its rule of
    contrast would decide on nothing. Unrolled, they cover nothing. */
const UNROLLED = `.bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article { position: static !important;
  max-height: none !important; height: auto !important; overflow: visible !important }`;

/** A formula has signs where its name has words: what is seen and what is said differ, as WCAG (2.5.3) has it. */
const FORMULAS = "button:has(.katex)";

/** Every page in each language and color mode, wide and narrow: the violations found, and what is left undecided.
    The contrast that axe does not decide is measured (contrast.js). */
async function axe(browser, base) {
  const source = readFileSync(path.join(here, "node_modules", "axe-core", "axe.min.js"), "utf8");
  const measuring = readFileSync(path.join(here, "contrast.js"), "utf8");
  const violations = [];
  let tooManyOpen = false;
  for (const name of pages()) {
    let count = 0, undecided = 0, measured = 0;
    for (const width of WIDTHS) {
      const page = await browser.newPage();
      await page.setViewport({ width, height: 900 });
      await page.evaluateOnNewDocument(FOLDS_NOTHING);
      await page.goto(`${base}/${name}?lang=zh`, { waitUntil: "load" });
      await page.addStyleTag({ content: UNROLLED });
      await page.evaluate(source);
      await page.evaluate(measuring);
      await page.keyboard.press("Tab"); // the whole page is laid out
      for (const theme of THEMES) {
        for (const language of LANGUAGES) {
          await page.evaluate((theme, language) => {
            document.documentElement.dataset.theme = theme;
            document.querySelector(`[data-set-language=${language}]`)?.click(); // 404.html has both
          }, theme, language);
          const found = await page.evaluate((formulas) =>
            new Promise((done) => setTimeout(done, 350)) // colors fade to the other mode
              .then(() => window.axe.run(document, { elementRef: true, resultTypes: ["violations", "incomplete"] }))
              .then(({ violations, incomplete }) => {
                for (const each of [...violations, ...incomplete]) {
                  if (each.id === "label-content-name-mismatch") each.nodes = each.nodes.filter(({ element }) => !element.matches(formulas));
                }
                violations = violations.filter(({ nodes }) => nodes.length);
                const open = incomplete.flatMap(({ id, nodes }) => nodes.map((node) => ({ id, node })));
                const contrast = open.filter(({ id }) => id === "color-contrast").map(({ node }) =>
                  [node, window.measureContrast(node.element, node.any[0]?.data?.messageKey === "bgOverlap")]);
                const low = contrast.filter(([, found]) => found && found.ratio < found.needed);
                return {
                  wrong: [
                    ...violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 160), v.nodes[0].failureSummary]),
                    ...low.map(([{ html }, { ratio, needed }]) =>
                      ["measured contrast", 1, html.slice(0, 160), `${ratio.toFixed(2)} where ${needed} is needed`]),
                  ],
                  open: open.length - contrast.filter(([, found]) => found).length,
                  measured: contrast.length,
                };
              }), FORMULAS);
          count += found.wrong.length;
          undecided = Math.max(undecided, found.open);
          measured += found.measured;
          for (const [id, nodes, html, why] of found.wrong) violations.push({ name, width, theme, language, id, nodes, html, why });
        }
      }
      await page.close();
    }
    tooManyOpen ||= undecided > BOUNDS.undecided;
    console.log(`axe         ${name.padEnd(28)} ${count} violations, ${measured} contrasts measured, at most ${undecided} undecided (bound ${BOUNDS.undecided}), in ${LANGUAGES.length * THEMES.length * WIDTHS.length} views`);
  }
  for (const v of violations) console.log(`  ${v.name} ${v.language} ${v.theme} ${v.width}: ${v.id} × ${v.nodes}\n    ${v.html}\n    ${v.why.replace(/\n\s*/g, " ")}`);
  return violations.length === 0 && !tooManyOpen;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Lighthouse's four scores of some pages, desktop and phone. */
async function scores(browser, base) {
  let good = true;
  for (const name of option("pages")?.split(",") ?? [FRONT_PAGE, MATHS_PAGE]) {
    for (const device of ["desktop", "mobile"]) good = (await score(browser, base, name, device)) && good;
  }
  return good;
}

async function score(browser, base, name, device) {
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    const page = await browser.newPage();
    const config = device === "desktop" ? desktopConfig : undefined;
    const result = await lighthouse(`${base}/${name}`, { logLevel: "error" }, config, page);
    runs.push(result.lhr);
    await page.close();
  }
  const line = [];
  let good = true;
  for (const [category, bound] of Object.entries(BOUNDS[device])) {
    const found = Math.round(100 * median(runs.map((run) => run.categories[category].score)));
    line.push(`${category} ${found}`);
    if (found >= bound) continue;
    good = false;
    for (const { id } of runs[0].categories[category].auditRefs) {
      const audit = runs[0].audits[id];
      if (audit.score !== null && audit.score < 0.9) console.log(`  ${device} ${category}: ${audit.title} ${audit.displayValue || ""}`);
    }
  }
  console.log(`lighthouse  ${`${name} ${device}`.padEnd(36)} ${line.join(", ")}`);
  return good;
}

/** What a phone fetches for each chapter, compressed, its figures left out. */
async function weights(browser, base) {
  let good = true;
  for (const name of pages()) {
    const page = await browser.newPage();
    await page.setCacheEnabled(false);
    const client = await page.createCDPSession();
    await client.send("Network.enable");
    let bytes = 0;
    client.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
    await page.goto(`${base}/${name}`, { waitUntil: "networkidle0" });
    const html = readFileSync(path.join(site, name), "utf8");
    const bare = html.replace(/<svg[^>]*role="img"[\s\S]*?<\/svg>/g, "");
    const figures = zlib.gzipSync(html, { level: 9 }).length - zlib.gzipSync(bare, { level: 9 }).length;
    const kilobytes = Math.round((bytes - figures) / 1000);
    const fits = kilobytes <= BOUNDS.kilobytes;
    good &&= fits;
    console.log(`weight      ${name.padEnd(28)} ${kilobytes} KB${fits ? "" : ` > ${BOUNDS.kilobytes}`} (and ${Math.round(figures / 1000)} KB of figures)`);
    await page.close();
  }
  return good;
}

if (!existsSync(path.join(site, MATHS_PAGE))) {
  console.error(`no built site at ${site}: run make book first`);
  process.exit(1);
}
const executablePath = process.env.CHROME_PATH ||
  ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find(existsSync);
const server = await serve();
const base = `http://127.0.0.1:${server.address().port}`;
const browser = await puppeteer.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
let good = true;
try {
  if (!skipped("weight")) good = (await weights(browser, base)) && good;
  if (!skipped("lighthouse")) good = (await scores(browser, base)) && good;
  if (!skipped("axe")) good = (await axe(browser, base)) && good;
} finally {
  await browser.close();
  server.close();
}
console.log(good ? "audit passed" : "audit FAILED");
process.exit(good ? 0 : 1);
