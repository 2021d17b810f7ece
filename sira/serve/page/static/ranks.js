// Plain BM25 beside the program: two columns of the first k ranks, with where each document went.

import { bdi, clipped, el, section } from "./dom.js";
import { moveOf, standing } from "./format.js";
import { rove, rowHead, table } from "./tables.js";

const NAME_CHARACTERS = 90;

/** `found` is a search explained; `read(docid)` opens a document. `written`: its program was written or edited. */
export function ranks(found, read, written) {
  const before = plainOrder(found);
  const rows = Array.from({ length: Math.max(before.length, found.hits.length) }, (_, place) => place);
  if (!rows.length) return null;
  const whole = table({
    label: "Ranks: plain BM25 beside the program",
    head: ["rank", "plain BM25", "program"],
    items: rows,
    classes: "ranks",
    row: (place) => [
      rowHead({ class: "number" }, String(place + 1)),
      cell(before[place], (hit) => gone(hit), read),
      cell(found.hits[place], moveOf, read),
    ],
  });
  const pair = (event, on) => {
    const docid = event.target.closest("button")?.dataset.docid;
    for (const button of whole.querySelectorAll("button")) button.classList.toggle("pair", on && button.dataset.docid === docid);
  };
  for (const kind of ["focusin", "mouseover"]) whole.addEventListener(kind, (event) => pair(event, true));
  for (const kind of ["focusout", "mouseleave"]) whole.addEventListener(kind, (event) => pair(event, false));
  return section("ranks", "Ranks",
    el("p", { class: "soft" }, written ? "Plain BM25 is here the program’s own single words, with their weights. " : "Plain BM25 is the question’s own words in the texts alone. ", "▲ up, ▼ down, = same rank, + new in the first ",
      `${found.k}, × lost from them. Press a document to read it.`),
    rove(whole));
}

/** The first k of plain BM25, in its order: those of the hits that stand there, and the lost ones. */
function plainOrder(found) {
  const inside = found.hits.filter((hit) => hit.plain_bm25.rank !== null && hit.plain_bm25.rank <= found.k);
  return [...inside, ...found.lost].sort((one, other) => one.plain_bm25.rank - other.plain_bm25.rank);
}

/** Where a document of plain BM25 went under the program. */
function gone(hit) {
  if (hit.move === undefined) {
    return { kind: "lost", sign: "×", text: hit.rank === null ? "" : `to ${hit.rank}`, said: `lost, ${standing(hit.rank)} with the program` };
  }
  const move = moveOf(hit);
  return { ...move, said: move.kind === "same" ? move.said : `${move.kind} to rank ${hit.rank}` };
}

export function nameOf(hit) {
  const title = typeof hit.title === "string" ? hit.title : hit.title.map((piece) => piece.text).join("");
  return title.trim() || hit.docid;
}

function cell(hit, moved, read) {
  if (!hit) return "";
  const move = moved(hit);
  const name = clipped(nameOf(hit), NAME_CHARACTERS);
  return el("button", {
    type: "button", class: "document", "data-docid": hit.docid,
    title: clipped(hit.docid), on: { click: () => read(hit.docid) },
  }, badge({ ...move, text: move.short ?? move.text }), bdi(name), el("span", { class: "hidden" }, `, ${move.said}`));
}

export const badge = (move) =>
  el("span", { class: `move ${move.kind}`, title: move.said, "aria-hidden": "true" }, el("b", {}, move.sign), move.text ? ` ${move.text}` : "");
