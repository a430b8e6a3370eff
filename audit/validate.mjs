/* Whether pages are HTML as the standard has it: html-validate, which asks nobody on the network.

   node audit/validate.mjs PAGE…
   Writes what is wrong as JSON: [[page, line, rule, message], …]. */

import { readFileSync } from "node:fs";
import { HtmlValidate } from "html-validate";

const validator = new HtmlValidate({ root: true, extends: ["html-validate:standard"] });
const found = [];
for (const page of process.argv.slice(2)) {
  const { results } = await validator.validateString(readFileSync(page, "utf8"));
  for (const { messages } of results) found.push(...messages.map(({ line, ruleId, message }) => [page, line, ruleId, message]));
}
process.stdout.write(JSON.stringify(found));
