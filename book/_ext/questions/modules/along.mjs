/* The reader's own file, my_attention.py, goes along in the file of the progress. The page in which it is written keeps it
   (page_python/static/own_file.js): { text, at, held, heldText, before }. Of two the later one counts; the other can be put back. */
export const OWN_FILE = "book-python:my_attention.py";
const LONGEST = 200_000, LAST_STEP = 16;

/** Whoever wrote it: only what has the right form comes in. */
function checked(found) {
  const is = (text) => typeof text === "string" && text.length <= LONGEST;
  if (!is(found?.text) || typeof found.at !== "number" || !(found.at >= 0 && found.at < Date.now() + 86_400_000)) return null;
  const holds = Number.isInteger(found.held) && found.held > 0 && found.held <= LAST_STEP && is(found.heldText);
  return { text: found.text, at: found.at, held: holds ? found.held : 0, heldText: holds ? found.heldText : "", before: is(found.before) ? found.before : "" };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function read() {
  try {
    return localStorage.getItem(OWN_FILE);
  } catch {
    return null; // the browser keeps nothing
  }
}

/** The text of a file of the progress, with the reader's own file in it, if there is one. */
export function withOwnFile(progress) {
  const mine = checked(parsed(read()));
  return mine?.text.trim() ? JSON.stringify({ ...parsed(progress), "my_attention.py": mine }, null, 1) : progress;
}

/** Take the reader's own file out of such a text. Returns whether it is now the one in this browser. */
export function takeOwnFile(progress) {
  const theirs = checked(parsed(progress)?.["my_attention.py"]), there = read(), mine = checked(parsed(there));
  if (!theirs?.text.trim() || (there !== null && !mine)) return false; // what cannot be read is left as it is
  if (mine?.text === theirs.text || (mine?.text.trim() && mine.at >= theirs.at)) return false;
  try {
    localStorage.setItem(OWN_FILE, JSON.stringify({ ...theirs, before: mine?.text.trim() ? mine.text : theirs.before }));
    return true;
  } catch {
    return false;
  }
}
