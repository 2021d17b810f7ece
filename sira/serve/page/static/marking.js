// Marks in the text of a document: the passages of the search, and every word in a form that its passages show marked.

// Scripts whose words stand without blanks: a form may stand anywhere in a run of them.
const CLOSE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const WORD = "[\\p{L}\\p{N}\\p{M}_]";
const BLANK = /\s/u;
const ELLIPSIS = new Set(["… ", " …"]);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** The marked words of all titles and passages, in lower case, with the places of their clauses; phrases left out, whose
 * words count only side by side. */
export function formsOf(found) {
  const forms = new Map();
  const single = new Set(["term", "any_of"]);
  for (const hit of found.hits) {
    for (const piece of [hit.title, ...hit.passages].flat()) {
      const places = piece.clauses.filter((place) => single.has(found.program.clauses[place]?.kind));
      if (places.length) forms.set(piece.text.toLowerCase(), places);
    }
  }
  return forms;
}

/** The text of a passage without what stands for text that was cut. */
export const core = (passage) => passage.filter((piece) => piece.clauses.length || !ELLIPSIS.has(piece.text)).map((piece) => piece.text).join("").trim();

/**
 * Stretches of a text, in its order and without overlaps: `start`, `end`, and `places` of clauses, or none where it is
 * `sought`, which goes before all others. And `passages`, where they stand in it.
 */
export function marksIn(text, forms, passages, sought = "") {
  const marks = sought ? [...text.matchAll(spaced(sought, "giu"))].map((match) => ({ start: match.index, end: match.index + match[0].length })) : [];
  const stretches = [];
  for (const passage of passages) {
    const found = stand(text, passage);
    if (!found) continue;
    stretches.push({ start: found.start, end: found.end, passage });
    marks.push(...found.marks);
  }
  const pattern = patternOf([...forms.keys()]);
  for (const match of pattern ? text.matchAll(pattern) : []) {
    const places = forms.get(match[0].toLowerCase());
    if (places) marks.push({ start: match.index, end: match.index + match[0].length, places });
  }
  return { marks: apart(marks), passages: stretches.sort((one, other) => one.start - other.start) };
}

function patternOf(forms) {
  if (!forms.length) return null;
  const longest = forms.filter(Boolean).sort((one, other) => other.length - one.length);
  const parted = longest.filter((form) => !CLOSE.test(form)).map(escaped);
  const close = longest.filter((form) => CLOSE.test(form)).map(escaped);
  const parts = [...(parted.length ? [`(?<!${WORD})(?:${parted.join("|")})(?!${WORD})`] : []), ...close];
  return new RegExp(parts.join("|"), "giu");
}

/** Marks in order; of two that overlap the one sought for stays, then the first and longer one. */
function apart(marks) {
  const sought = marks.filter((mark) => !mark.places);
  const others = marks.filter((mark) => mark.places && !sought.some((item) => item.start < mark.end && item.end > mark.start));
  let end = 0;
  return [...sought, ...others].sort((one, other) => one.start - other.start || other.end - one.end).filter((mark) => {
    const free = mark.start >= end;
    if (free) end = mark.end;
    return free;
  });
}

/** A text with any white space where it has some. */
const spaced = (text, flags) => new RegExp(text.trim().split(/\s+/u).map(escaped).join("\\s+"), flags);

/** Where a passage stands: its white space is one blank, that of the text is as it was written. */
function stand(text, passage) {
  const words = core(passage);
  if (!words) return null;
  const match = spaced(words, "u").exec(text);
  if (!match) return null;
  const marks = [];
  let at = match.index;
  let begun = false;
  for (const piece of passage) {
    if (!piece.clauses.length && ELLIPSIS.has(piece.text)) continue;
    const letters = begun ? piece.text : piece.text.trimStart();
    begun ||= letters !== "";
    const start = at;
    for (const letter of letters) at = BLANK.test(letter) ? over(text, at) : at + letter.length;
    if (piece.clauses.length) marks.push({ start, end: at, places: piece.clauses });
  }
  return { start: match.index, end: match.index + match[0].length, marks };
}

/** The place behind the white space that begins here. */
function over(text, at) {
  let end = at;
  while (end < text.length && BLANK.test(text[end])) end += 1;
  return end;
}
