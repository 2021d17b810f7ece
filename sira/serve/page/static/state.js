// What is asked stands in the address, behind `#`, so that a link asks it again. That part is sent to no server when the page is fetched, and
// nothing is kept anywhere else.

const DEPTH = 10;
export const MOST_DEPTH = 1000;

/**
 * A search as it is asked: of `program` (JSON) or `text` (the text form) at most one is there, and then no sketch counts.
 * `model`: the server's model is to sketch; `by` is "model" where it wrote these phrases, which are then trusted less.
 */
export function empty() {
  return { index: "", question: "", phrases: "", by: "", model: false, k: DEPTH, program: null, text: "" };
}

/** The depth that a text names: from 1 to `most`; null for anything else. */
export function depthOf(text, most = MOST_DEPTH) {
  const number = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0;
  return number >= 1 && number <= most ? number : null;
}

/** The search that an address names. What it does not say, or what cannot be read, is as usual; `fault` says so. */
export function read(hash) {
  const state = empty();
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  state.index = given.get("index") ?? "";
  state.question = given.get("q") ?? "";
  state.phrases = given.get("sketch") ?? "";
  state.model = given.get("model") === "1";
  state.by = given.get("by") === "model" ? "model" : "";
  state.k = depthOf(given.get("k") ?? "") ?? DEPTH;
  state.text = given.get("text") ?? "";
  const written = given.get("program");
  let fault = "";
  if (written) {
    try {
      state.program = JSON.parse(written);
      if (!Array.isArray(state.program?.clauses)) throw new Error("no clauses");
    } catch {
      state.program = null;
      fault = "The program in this address cannot be read: the link was cut. The question was searched without it.";
    }
  }
  return { state, fault };
}

export function write(state) {
  const given = new URLSearchParams();
  if (state.index) given.set("index", state.index);
  given.set("q", state.question);
  if (state.k !== DEPTH) given.set("k", String(state.k));
  if (state.program) given.set("program", JSON.stringify(state.program));
  else if (state.text) given.set("text", state.text);
  if (state.model) given.set("model", "1");
  else if (state.phrases.trim()) given.set("sketch", state.phrases);
  if (state.by && state.phrases.trim()) given.set("by", state.by);
  return `#${given}`;
}

/** Put a search into the address, as a step that the browser's back button undoes. False where it is too long. */
export function push(state) {
  const hash = write(state);
  if (hash === location.hash) return true;
  try {
    history.pushState(null, "", hash);
    return location.hash.length >= hash.length;
  } catch {
    return false;
  }
}

/** A program to send again: its clauses and scoring; the log of verdicts stays with the search that made it. */
export function bare(program) {
  return { ...program, verdicts: [] };
}
