// A search explained, in its parts.

import { byId, clipped, el, fill, goTo } from "./dom.js";
import { count, counted, whyEmpty } from "./format.js";
import { hits } from "./hits.js";
import { sketchPart, verdictsPart } from "./log.js";
import { lostPart } from "./lost.js";
import { programPart } from "./program.js";
import { ranks } from "./ranks.js";

const RANKING = new Set(["ranks", "hits", "lost"]);
const WRITTEN = { text: "This is the program as you wrote it.", edited: "This is the program as you edited it." };

/** One line on what was found. */
export function summary(found) {
  if (!found.hits.length) return clipped(whyEmpty(found.program), 400);
  const fresh = found.hits.filter((hit) => hit.move === "new").length;
  return `${counted(found.hits.length, "hit")} of at most ${count(found.k)}, ${count(fresh)} new against plain BM25, ${count(found.lost.length)} lost; N = ${counted(found.documents, "document")}.`;
}

/**
 * Put a search explained in place of what is there. `written`: its program is "text" or "edited", and no sketch's.
 * `actions`: those of the program and of the lost documents (see there), `read(docid, passage)`, and `back()` to the question.
 */
export function showResults(found, written, actions) {
  const before = focusPlace();
  const parts = [
    ranks(found, actions.read, written !== ""),
    hits(found, actions.read),
    lostPart(found, actions),
    found.sketch && sketchPart(found.sketch),
    verdictsPart(found.program, found.documents, written !== ""),
    programPart(found, actions),
  ].filter(Boolean);
  const link = (part) => el("a", { href: `#${part.id}`, on: { click: (event) => {
    event.preventDefault(); // the part of the address behind `#` holds the search
    goTo(part);
  } } }, part.querySelector("h2").textContent);
  const links = parts.map((part) => el("li", {}, link(part)));
  fill(byId("results"),
    el("nav", { "aria-label": "Parts of the results" }, el("ul", {}, links)),
    written && el("p", { class: "caveat" }, WRITTEN[written], " ",
      el("button", { type: "button", class: "plain", on: { click: actions.back } }, "Back to the question")),
    el("div", { class: "columns" },
      el("div", {}, parts.filter((part) => RANKING.has(part.id))), el("div", {}, parts.filter((part) => !RANKING.has(part.id)))));
  before?.();
}

const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** Where the keyboard is in the results that are about to go; called, it goes there in the new ones, at the same place of the window. */
function focusPlace() {
  const { activeElement } = document;
  if (activeElement === byId("results") || !byId("results").contains(activeElement)) return null;
  const part = activeElement.closest("section")?.id;
  const { top } = activeElement.getBoundingClientRect();
  return () => {
    const there = part && byId(part);
    const same = there && [...there.querySelectorAll(activeElement.tagName)].find((item) => nameOf(item) === nameOf(activeElement));
    const goal = same || there?.querySelector("h2") || byId("results");
    goal.focus({ preventScroll: goal === same });
    if (goal === same) scrollBy({ top: same.getBoundingClientRect().top - top, behavior: "instant" });
  };
}
