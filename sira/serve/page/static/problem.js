// What went wrong, with what mends it.

import { Problem } from "./api.js";
import { clipped, el } from "./dom.js";

/** A fault of the page itself, such as an answer of another version of the server, is told like any other. */
export function told(problem) {
  if (problem instanceof Problem) return problem;
  console.error(problem);
  return new Problem({ title: "This page cannot show the answer", detail: String(problem), remedy: "Reload the page, which may be older than its server." });
}

/** A problem as the page shows it; `again` tries again, `older` says that results of an earlier search stand below. */
export function problemBox(problem, again, older) {
  const notes = [problem.status ? `status ${problem.status}` : "", problem.request && `request ${clipped(problem.request, 80)}`].filter(Boolean);
  return el("div", { class: "problem" },
    el("h2", {}, clipped(problem.title, 200)),
    el("p", { dir: "auto" }, clipped(withoutRemedy(problem), 1200)),
    problem.remedy && el("p", {}, el("b", {}, "What to do: "), clipped(problem.remedy, 600)),
    older && el("p", { class: "soft" }, "What stands below is the search before."),
    el("p", { class: "actions" }, el("button", { type: "button", class: "plain", on: { click: again } }, "Try again"),
      notes.length > 0 && el("span", { class: "soft" }, notes.join(", "))));
}

/** The detail of a problem, which ends with the remedy, where that is shown by itself. */
function withoutRemedy({ detail, remedy }) {
  return remedy && detail.endsWith(`: ${remedy}`) ? `${detail.slice(0, -remedy.length - 2)}.` : detail;
}
