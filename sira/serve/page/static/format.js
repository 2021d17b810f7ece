// Numbers and short texts, in the words of `sira explain`.

const COUNT = new Intl.NumberFormat("en");

export const count = (number) => COUNT.format(number);

export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A score with four places; very large and very small ones by powers of ten. */
export function score(value) {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e7 || size < 5e-5) ? value.toExponential(3) : value.toFixed(4);
}

/** A weight as a person writes it. */
export const weight = (value) => (value === null || value === undefined ? "" : String(Number(Number(value).toPrecision(7))));

export const df = (value) => (value === null || value === undefined ? "" : count(value));

/** df as a share of all documents; nothing where either is unknown. */
export function share(value, documents) {
  if (value === null || value === undefined || !documents) return "";
  return `${((100 * value) / documents).toFixed(2)}%`;
}

export function label(clause) {
  switch (clause.kind) {
    case "term": return clause.term;
    case "phrase": return `"${clause.terms.join(" ")}"`;
    case "any_of": return `(${clause.terms.join(" | ")})`;
    case "facet": return clause.facet;
    default: return `${clause.field}:[${clause.gte ?? "*"} TO ${clause.lte ?? "*"}]`;
  }
}

/** Where a clause looks. */
export function fieldOf(clause) {
  return { phrase: "contents", facet: "facet", range: clause.field }[clause.kind] ?? "words";
}

export const origin = (clause) => (clause.source === null || clause.source === undefined ? "query" : clause.source);

export const standing = (rank) => (rank === null || rank === undefined ? "no hit" : `rank ${count(rank)}`);

/** Which way a hit went against plain BM25: a sign, a short text beside it, and the whole as a sentence. */
export function moveOf(hit) {
  const before = hit.plain_bm25.rank;
  switch (hit.move) {
    case "up": return { kind: "up", sign: "▲", text: String(before - hit.rank), said: `up from rank ${before}` };
    case "down": return { kind: "down", sign: "▼", text: String(hit.rank - before), said: `down from rank ${before}` };
    case "same": return { kind: "same", sign: "=", text: "", said: "same rank" };
    default: return { kind: "new", sign: "+", short: "new", text: before === null ? "new" : `new, ${count(before)}`, said: `new, ${standing(before)} under plain BM25` };
  }
}

/** The outcome of a verdict, with what decided it and what would pass. */
export function outcome(verdict) {
  const notes = [verdict.reason, verdict.suggestion && `rather ${verdict.suggestion}`].filter(Boolean);
  const name = verdict.outcome.replaceAll("_", " ");
  return notes.length ? `${name} (${notes.join("; ")})` : name;
}

/** Why a search has no hit. */
export function whyEmpty(program) {
  if (!program.clauses.length) return "No hits: the program has no clause. Stop words and marks are not searched.";
  const absent = program.clauses.filter((clause) => clause.occur === "must" && clause.df === 0).map(label);
  if (absent.length) return `No hits: it requires ${absent.join(", ")}, which no document holds.`;
  return "No hits: no document matches.";
}
