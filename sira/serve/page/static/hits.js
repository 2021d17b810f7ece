// The hits: title and passages with the matched words marked, and a bar for what each clause adds.

import { bdi, clipped, el, readable, section } from "./dom.js";
import { counted, label, moveOf, origin, score, whyEmpty } from "./format.js";
import { badge } from "./ranks.js";

const SHOWN_BARS = 8;
const BAR_NAME = 60;
const FIRST_HITS = 20;

/** `read(docid, passage)` opens a document, at a passage where one is given. */
export function hits(found, read) {
  if (!found.hits.length) return section("hits", "Hits", el("p", { dir: "auto" }, clipped(whyEmpty(found.program), 400)));
  const most = heaviest(found);
  const cards = el("div", {}, found.hits.slice(0, FIRST_HITS).map((hit) => card(hit, found, most, read)));
  const rest = found.hits.slice(FIRST_HITS);
  const more = rest.length > 0 && el("button", { type: "button", class: "more", on: { click: () => {
    const next = rest.map((hit) => card(hit, found, most, read));
    cards.append(...next);
    more.remove();
    next[0].querySelector("button").focus();
  } } }, `Show ${counted(rest.length, "more hit")}`);
  return section("hits", "Hits", legend(), cards, more);
}

/** The largest number of all bars, which have one scale. */
export const heaviest = (found) => Math.max(...found.hits.flatMap((hit) => hit.contributions.map((part) => part.score)), 0) || 1;

function legend() {
  return el("p", { class: "soft" },
    el("i", { class: "bar key" }), " ", el("mark", {}, "words of the question"), "; ",
    el("i", { class: "bar sketch key" }), " ", el("mark", { class: "sketch" }, "what was proposed"), "; ",
    el("b", {}, "expansion"), ": held only in the phrases proposed for the document. The numbers of a hit add up to its score; ",
    "all bars have one scale.");
}

function card(hit, found, most, read) {
  const clauses = found.program.clauses;
  const named = hit.title.length > 0;
  const passages = hit.passages.map((passage, place) => el("p", { class: "passage", dir: "auto" }, marked(passage, clauses), " ",
    el("button", { type: "button", class: "quiet", "aria-label": `Read passage ${place + 1} of ${clipped(hit.docid, 60)} in the document`,
      on: { click: () => read(hit.docid, passage) } }, "in the document")));
  return el("article", { "aria-labelledby": `hit-${hit.rank}` },
    el("h3", { id: `hit-${hit.rank}` }, `${hit.rank}. `, bdi(named ? "" : clipped(hit.docid)), named && el("bdi", {}, marked(hit.title, clauses))),
    el("p", { class: "facts" },
      el("span", {}, "score ", el("b", {}, score(hit.score)), shares(hit.contributions, clauses)),
      el("span", {}, badge({ ...moveOf(hit), text: "" }), ` ${inWords(moveOf(hit))}`),
      named && el("span", {}, "document ", el("b", { dir: "auto" }, clipped(hit.docid))),
      hit.grade !== null && hit.grade !== undefined && el("span", {}, "grade ", el("b", {}, String(hit.grade)))),
    passages,
    bars(hit.contributions, clauses, most),
    el("p", {}, el("button", { type: "button", class: "plain", "aria-label": `Read document ${clipped(hit.docid, 60)}`, on: { click: () => read(hit.docid) } }, "Read document")));
}

const inWords = ({ kind, said }) => (kind === "new" ? said : `${said} ${kind === "same" ? "as" : "of"} plain BM25`);

/** What the question and what was proposed have of a score; nothing where the question has all. */
function shares(parts, clauses) {
  const proposed = parts.filter((part) => origin(clauses[part.place]) !== "query").reduce((sum, part) => sum + part.score, 0);
  const asked = parts.reduce((sum, part) => sum + part.score, 0) - proposed;
  return proposed > 0 && ` = question ${score(asked)} + proposed ${score(proposed)}`;
}

/** A passage or title: pieces, those with clauses marked; dotted where all of these were proposed. */
export function marked(passage, clauses) {
  return passage.map((piece) => (piece.clauses.length ? mark(piece.text, piece.clauses, clauses) : readable(piece.text)));
}

export function mark(text, places, clauses) {
  const matched = places.map((place) => clauses[place]).filter(Boolean);
  const proposed = matched.length > 0 && matched.every((clause) => origin(clause) !== "query");
  return el("mark", { class: proposed && "sketch", title: clipped(matched.map(label).join(", ")) }, readable(text));
}

/** The contributions of a document, heaviest first; `most` has the longest bar. */
export function bars(parts, clauses, most) {
  const shown = parts.length <= SHOWN_BARS + 1 ? parts : parts.slice(0, SHOWN_BARS);
  const rest = parts.slice(shown.length);
  const total = rest.reduce((sum, part) => sum + part.score, 0);
  return [
    shown.length > 0 && barList(shown, clauses, most),
    rest.length > 0 && unfolding(`${rest.length} more, together ${score(total)}`, () => barList(rest, clauses, most)),
  ].filter(Boolean);
}

/** Made when it is first opened: of a program of thousands of clauses most are never looked at. */
function unfolding(title, body) {
  const details = el("details", { on: { toggle: () => {
    if (details.open && details.childElementCount === 1) details.append(body());
  } } }, el("summary", {}, title));
  return details;
}

function barList(parts, clauses, most) {
  return el("dl", { class: "bars" }, parts.flatMap((part) => {
    const clause = clauses[part.place];
    const bar = el("i", { class: origin(clause) === "query" ? "bar" : "bar sketch" });
    bar.style.width = `${Math.max(0, Math.min(100, (100 * part.score) / most)).toFixed(1)}%`;
    return [
      el("dt", { title: clipped(`from ${origin(clause)}`) }, bdi(clipped(part.clause, BAR_NAME)), part.held === "expansion" && [" ", el("span", { class: "soft" }, "expansion")]),
      el("dd", {}, el("span", { class: "track" }, bar), el("span", { class: "figure" }, score(part.score))),
    ];
  }));
}
