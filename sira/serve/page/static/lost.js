// Lost documents: plain BM25 has them among its first k, the program has not. Why is asked for when it is wanted.

import { bdi, clipped, el, fill, goTo, section } from "./dom.js";
import { count, counted, label, score, standing } from "./format.js";
import { bars, heaviest } from "./hits.js";

const NAMED = 8;

/** `why(docids)` promises these documents explained, at most `mostDocids` of them; `read(docid)` opens one. */
export function lostPart(found, { why, mostDocids, read, say }) {
  if (!found.lost.length) return null;
  const docids = found.lost.slice(0, mostDocids).map((hit) => hit.docid);
  const fault = el("p", { class: "fault", role: "alert" });
  const holder = el("div");
  let asking = false;
  const explain = async () => {
    if (asking) return;
    asking = true;
    fault.textContent = "";
    try {
      const missed = await why(docids);
      fill(holder, missed.map((item) => card(item, found, read)));
      goTo(whole);
      say(`${counted(missed.length, "lost document")} explained.`);
    } catch (problem) {
      fault.textContent = clipped(problem.message, 400);
    }
    asking = false;
  };
  fill(holder, el("button", { type: "button", class: "plain", on: { click: explain } },
    docids.length < found.lost.length ? `Explain the first ${count(docids.length)}` : "Why are they lost?"));
  const whole = section("lost", "Lost", el("p", {}, `Of plain BM25’s first ${count(found.k)}, the program’s first ${count(found.k)} `,
    `lack ${counted(found.lost.length, "document")}.`), holder, fault);
  return whole;
}

function card(item, found, read) {
  const name = item.title.trim() || item.docid;
  const names = (places) => listed(places.map((part) => label(found.program.clauses[part.place])));
  const excluded = item.kept_out_by.filter((part) => part.occur === "must_not");
  const required = item.kept_out_by.filter((part) => part.occur !== "must_not");
  return el("article", {},
    el("h3", {}, bdi(clipped(name))),
    el("p", { class: "facts" },
      el("span", {}, `${standing(item.plain_bm25.rank)} under plain BM25, ${standing(item.rank)} with the program`),
      el("span", {}, "score ", el("b", {}, score(item.score)), below(item.gap)),
      el("span", {}, "document ", el("b", { dir: "auto" }, clipped(item.docid)))),
    excluded.length > 0 && el("p", {}, "Kept out: it holds the excluded ", bdi(names(excluded)), "."),
    required.length > 0 && el("p", {}, "Kept out: it lacks the required ", bdi(names(required)), "."),
    bars(item.contributions, found.program.clauses, heaviest(found)),
    item.lacks.length > 0 && el("p", {}, "It lacks, the costliest first: ", bdi(names(item.lacks)), "."),
    item.dropped.length > 0 && el("p", {}, "It holds what the compiler dropped: ", bdi(listed(item.dropped.map((part) => part.term))), "."),
    el("p", {}, el("button", { type: "button", class: "plain", "aria-label": `Read document ${clipped(item.docid, 60)}`, on: { click: () => read(item.docid) } }, "Read document")));
}

/** Nothing where the score is above that of the last hit: then a clause keeps it out. */
function below(gap) {
  if (gap === 0) return ", as the last hit: such go by docid";
  return gap > 0 && `, ${score(gap)} below the last hit`;
}

function listed(texts) {
  const more = texts.length - NAMED;
  return texts.slice(0, NAMED).map((text) => clipped(text, 60)).join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}
