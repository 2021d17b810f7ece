// A sketch as lines of text and back: `+` requires, `-` excludes, `^2` is a weight, `#` a facet; `\` before the first
// letter takes it as it is.

const WEIGHT = /^(.*\S)\s*\^(\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/su;
const ROLES = { "+": "must", "-": "must_not" };

/** The sketch that these lines spell; null where they propose nothing. */
export function sketchOf(lines) {
  const phrases = [];
  const facets = [];
  for (const line of lines.split("\n").map((text) => text.trim()).filter(Boolean)) {
    const sign = line[0];
    if (sign === "#") {
      if (line.slice(1).trim()) facets.push(line.slice(1).trim());
      continue;
    }
    const role = ROLES[sign] ?? "should";
    const bare = role !== "should" || sign === "\\" ? line.slice(1).trim() : line;
    const weighted = WEIGHT.exec(bare);
    const text = weighted ? weighted[1] : bare;
    if (!text) continue;
    const phrase = { text };
    if (role !== "should") phrase.role = role;
    if (weighted) phrase.weight = Number(weighted[2]);
    phrases.push(Object.keys(phrase).length === 1 ? text : phrase);
  }
  return phrases.length || facets.length ? { phrases, facets } : null;
}

/** The lines of a sketch as JSON: its phrases and facets. */
export function linesOf(sketch) {
  const lines = (sketch.phrases ?? []).map((item) => {
    const phrase = typeof item === "string" ? { text: item } : item;
    const text = phrase.text.replace(/\s+/g, " ").trim();
    const sign = { must: "+", must_not: "-" }[phrase.role] ?? (/^[+\-#\\]/.test(text) ? "\\" : "");
    const weight = phrase.weight ?? (WEIGHT.test(text) ? 1 : null);
    return `${sign}${text}${weight === null ? "" : `^${weight}`}`;
  });
  return [...lines, ...(sketch.facets ?? []).map((facet) => `#${facet}`)].join("\n");
}
