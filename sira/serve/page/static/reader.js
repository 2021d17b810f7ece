// A document in pages of lines, in a dialog: the passages of the search and the matched words are marked.

import { bdi, byId, clipped, el, fill, isKey, readable } from "./dom.js";
import { count } from "./format.js";
import { mark } from "./hits.js";
import { core, formsOf, marksIn } from "./marking.js";
import { nameOf } from "./ranks.js";

const LINES = 200;
const PATTERN_CHARACTERS = 200;
const BEFORE = 3; // lines shown above what was looked for

/** `fetching` asks the server: `lines` and `find` of the API. */
export class Reader {
  constructor(fetching) {
    this.fetching = fetching;
    this.dialog = byId("reader");
    this.stopping = new AbortController();
    this.dialog.addEventListener("close", () => {
      this.stopping.abort();
      fill(this.dialog);
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // beside it
    });
  }

  /** Open a document of a search explained on an index; at a passage where one is given. */
  async open(found, index, docid, passage) {
    Object.assign(this, { found, index, docid, forms: formsOf(found), match: 0, page: null });
    this.hit = found.hits.find((hit) => hit.docid === docid) ?? found.lost.find((hit) => hit.docid === docid);
    this.passages = this.hit?.passages ?? [];
    this.frame();
    this.dialog.showModal();
    this.body.focus();
    await (passage ? this.seek(core(passage), 1, passage) : this.show(1));
  }

  frame() {
    const button = (text, click, classes = "plain") => el("button", { type: "button", class: classes, on: { click } }, text);
    this.facts = el("p", { class: "soft", role: "status" });
    this.fault = el("div", { role: "alert" });
    this.body = el("div", { class: "text", tabindex: "0", role: "region", "aria-label": "Text of the document" });
    this.sought = el("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false", dir: "auto" });
    this.sought.addEventListener("input", () => { this.match = 0; });
    this.back = button("Earlier lines", () => this.show(Math.max(1, this.page.first - LINES)));
    this.on = button("Further lines", () => this.show(this.page.next_offset));
    const find = (event) => {
      event.preventDefault();
      if (this.sought.value.trim()) this.seek(this.sought.value, this.match + 1);
    };
    this.body.addEventListener("keydown", (event) => {
      if (isKey(event, "n") || isKey(event, "p")) this.step(event.key === "n" ? 1 : -1);
    });
    fill(this.dialog,
      el("header", {}, el("h2", { id: "reader-title" }, bdi(clipped(this.hit ? nameOf(this.hit) : this.docid))), button("Close", () => this.dialog.close())),
      el("p", { class: "soft" }, "document ", bdi(clipped(this.docid))), this.facts,
      el("form", { class: "actions", role: "search", "aria-label": "In this document", on: { submit: find } },
        el("label", {}, "Find ", this.sought), el("button", { type: "submit", class: "plain" }, "Find"),
        button("Previous mark", () => this.step(-1)), button("Next mark", () => this.step(1))),
      this.fault, this.body, el("p", { class: "actions" }, this.back, this.on));
  }

  /** What `asked` gives; null where it failed, which is told; undefined where another question came first, or the end. */
  async ask(asked) {
    this.stopping.abort();
    this.stopping = new AbortController();
    this.dialog.setAttribute("aria-busy", "true");
    fill(this.fault);
    try {
      return await asked(this.stopping.signal);
    } catch (problem) {
      if (problem.name === "AbortError") return undefined;
      fill(this.fault, el("p", { class: "fault" }, clipped(problem.message, 400)));
      return null;
    } finally {
      this.dialog.removeAttribute("aria-busy");
    }
  }

  async show(offset, wanted = {}) {
    const page = await this.ask((signal) => this.fetching.lines(this.index, this.docid, offset, LINES, signal));
    if (!page) return;
    this.page = page;
    this.facts.textContent = page.first ? `${page.first === page.last ? "line" : "lines"} ${count(page.first)}${page.first === page.last ? "" : ` to ${count(page.last)}`} of ${count(page.total)}` : "It has no text.";
    this.back.hidden = page.first <= 1;
    this.on.hidden = page.next_offset === null;
    this.draw(page, wanted);
  }

  /** Go to the n-th place of a text, which is that of a passage where one is given; what is not found is told. */
  async seek(text, number, passage) {
    const pattern = Array.from(text).slice(0, PATTERN_CHARACTERS).join("").trim();
    const found = await this.ask((signal) => this.fetching.find(this.index, this.docid, pattern, number, signal));
    if (found === undefined) return;
    const place = found?.matches[0];
    if (place) {
      this.match = number;
      await this.show(Math.max(1, place.line - BEFORE), passage ? { passage } : { pattern });
      this.facts.textContent += `; place ${count(number)} of ${count(found.total)}, line ${count(place.line)}`;
    } else if (found?.total && number > 1) {
      await this.seek(text, 1, passage); // behind the last one comes the first
    } else {
      const told = [...this.fault.childNodes];
      if (!this.page) await this.show(1);
      fill(this.fault, ...(found ? [el("p", { class: "fault" }, "Nothing of it stands in this document.")] : told));
    }
  }

  draw(page, wanted) {
    const { marks, passages } = marksIn(page.text, this.forms, this.passages, wanted.pattern);
    const texts = page.text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];
    // A long line comes in several pieces, each with a number of its own: where there are such, no number is shown.
    const lines = el("ol", { class: texts.length === page.last - page.first + 1 ? "lines numbered" : "lines" });
    lines.style.counterReset = `line ${page.first - 1}`;
    let start = 0;
    for (const text of texts) {
      const end = start + text.length;
      lines.append(this.line(page.text, start, end, { marks, passages, sought: wanted.passage }));
      start = end;
    }
    fill(this.body, lines);
    this.body.scrollTop = 0;
    const target = wanted.pattern ? "mark.found" : wanted.passage ? ".sought mark, .sought" : null;
    const place = target && this.body.querySelector(target);
    if (place) this.scrollTo(place);
  }

  line(text, start, end, { marks, passages, sought }) {
    const line = el("li", { dir: "auto" });
    let at = start;
    for (const item of passages) {
      const from = Math.max(item.start, at);
      const stop = Math.min(item.end, end);
      if (from >= stop) continue;
      this.words(line, text, at, from, marks);
      const within = el("span", { class: item.passage === sought ? "within sought" : "within" });
      this.words(within, text, from, stop, marks);
      line.append(within);
      at = stop;
    }
    this.words(line, text, at, end, marks);
    return line;
  }

  /** Put a stretch of the text into an element, with its marks and without the end of its line. */
  words(into, text, start, end, marks) {
    let at = start;
    for (const item of marks) {
      const from = Math.max(item.start, at);
      const stop = Math.min(item.end, end);
      if (from >= stop) continue;
      const part = text.slice(from, stop);
      into.append(readable(text.slice(at, from)),
        item.places ? mark(part, item.places, this.found.program.clauses) : el("mark", { class: "found" }, readable(part)));
      at = stop;
    }
    into.append(readable(text.slice(at, end).replace(/\r?\n$/u, "")));
  }

  /** To the next or the previous mark of the lines that are shown. */
  step(by) {
    const all = [...this.body.querySelectorAll("mark")];
    if (!all.length) {
      fill(this.fault, el("p", { class: "fault" }, "These lines have no mark."));
      return;
    }
    const current = all.findIndex((item) => item.classList.contains("current"));
    all[current]?.classList.remove("current");
    const place = current < 0 ? (by > 0 ? 0 : all.length - 1) : (current + by + all.length) % all.length;
    all[place].classList.add("current");
    this.scrollTo(all[place]);
  }

  scrollTo(element) {
    element.scrollIntoView({ block: "center", inline: "nearest" });
  }
}
