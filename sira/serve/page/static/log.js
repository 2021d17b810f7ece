// The sketch, and the verdicts: what was proposed, and what became of each window of it.

import { clipped, el, fill, section } from "./dom.js";
import { count, counted, df, outcome, share, weight } from "./format.js";
import { table } from "./tables.js";

export function sketchPart(sketch) {
  const rows = [sketch, ...(sketch.searches ?? [])].flatMap((part, number) => {
    const of = number ? String(number) : "";
    return [
      ...(part.phrases ?? []).map((item) => (typeof item === "string" ? [item, "should", "", of] : [item.text, (item.role ?? "should").replace("_", " "), weight(item.weight), of])),
      ...(part.facets ?? []).map((facet) => [facet, "facet", "", of]),
      ...(part.ranges ?? []).map((item) => [`${item.field}:[${item.gte ?? "*"} TO ${item.lte ?? "*"}]`, `range, ${(item.role ?? "filter").replace("_", " ")}`, "", of]),
    ];
  });
  const further = (sketch.searches ?? []).length;
  const told = [counted((sketch.phrases ?? []).length, "phrase"), counted((sketch.facets ?? []).length, "facet")];
  if (further) told.push(`further searches, not part of this program: ${further}`);
  const head = ["phrase", "role", "weight", ...(further ? ["further search"] : [])];
  return section("sketch", "Sketch", el("p", {}, `${told.join(", ")}.`), rows.length > 0 && table({
    label: "Sketch: the proposed phrases", head, numbers: ["weight", "further search"], items: rows,
    row: (cells) => cells.slice(0, head.length).map((text) => clipped(text)),
  }));
}

/** The verdicts, all or those of one outcome. `edited`: the program is no longer what they made of it. */
export function verdictsPart(program, documents, edited) {
  const verdicts = program.verdicts ?? [];
  if (!verdicts.length) {
    return section("verdicts", "Verdicts", el("p", {}, edited
      ? "This program was written or edited, and brings no log of verdicts. Search the question again to see one." : "Nothing was proposed."));
  }
  const kept = verdicts.filter((item) => item.outcome === "kept" && item.weight !== 0).length;
  const holder = el("div");
  const show = (wanted) => fill(holder, table({
    label: "Verdicts: what became of each window", head: ["phrase", "window", "verdict", "df", "share", "weight"], numbers: ["df", "share", "weight"],
    items: wanted ? verdicts.filter((item) => item.outcome === wanted) : verdicts,
    row: (item) => [
      clipped(item.phrase), clipped(item.term), verdictCell(item), df(item.df), share(item.df, documents), weight(item.weight),
    ],
  }));
  show("");
  return section("verdicts", "Verdicts",
    el("p", {}, `${count(kept)} of ${counted(verdicts.length, "window")} kept.`, edited ? " The program was edited since." : ""),
    choice(verdicts, show), holder);
}

function verdictCell(item) {
  const kept = item.outcome === "kept";
  return el("td", { class: kept ? "kept" : "dropped" }, el("span", { "aria-hidden": "true" }, kept ? "✓ " : "– "), clipped(outcome(item)));
}

function choice(verdicts, show) {
  const numbers = new Map();
  for (const item of verdicts) numbers.set(item.outcome, (numbers.get(item.outcome) ?? 0) + 1);
  if (numbers.size < 2) return null;
  const options = [...numbers].sort((one, other) => other[1] - one[1])
    .map(([name, number]) => el("option", { value: name }, `${name.replaceAll("_", " ")} (${count(number)})`));
  return el("p", {}, el("label", {}, "Show ", el("select", { on: { change: (event) => show(event.target.value) } },
    el("option", { value: "" }, `all (${count(verdicts.length)})`), options)));
}
