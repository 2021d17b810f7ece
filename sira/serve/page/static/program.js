// The program: its clauses with weights and signs to edit, new ones in the words of the text form, and the text itself.

import { copyButton } from "./copying.js";
import { clipped, el, fill, section } from "./dom.js";
import { counted, df, fieldOf, label, origin, share, weight } from "./format.js";
import { rove, rowHead, table } from "./tables.js";

const OCCURS = ["should", "must", "must_not", "filter"];
const MOST_WEIGHT = 1e30;
const ADDED = "added here"; // a source, so that plain BM25 stays that of the question
const NUMBER = /^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** The weight that a text names: a number from 0 to 1e30; null for anything else. */
export function weightOf(text) {
  const value = NUMBER.test(text.trim()) ? Number(text) : NaN;
  return value >= 0 && value <= MOST_WEIGHT ? value : null;
}

/**
 * `found` is a search explained. `actions`: `run(program)` and `runText(text)` search again, `bind(text)` promises the
 * clauses that a text has on this index, `curl()` is this search as a command, `say(text)` tells what was done.
 */
export function programPart(found, actions) {
  const editor = new Editor(found, actions);
  const scoring = found.program.scoring;
  const told = `${counted(found.program.clauses.length, "clause")}; ${scoring.combine}, k1 = ${weight(scoring.k1)}, b = ${weight(scoring.b)}, ` +
    `weights of contents ${weight(scoring.contents_weight)}, expansion ${weight(scoring.expansion_weight)}.`;
  return section("program", "Program", el("p", {}, told), editor.form(), editor.adding(),
    el("p", { class: "actions" }, copyButton("Copy as text", () => found.program_text, actions.say), copyButton("Copy as curl", actions.curl, actions.say)),
    textForm(found.program_text, actions));
}

class Editor {
  constructor(found, actions) {
    this.found = found;
    this.actions = actions;
    this.holder = rove(el("div"));
    this.fault = el("p", { id: "program-fault", class: "fault", role: "alert" });
    this.waiting = el("span", { class: "soft", hidden: true }, "Edited, not yet run.");
    this.reset();
  }

  reset() {
    this.rows = this.found.program.clauses.map((clause) => ({ clause, occur: clause.occur, weight: weight(clause.weight), removed: false }));
    this.draw();
    this.waiting.hidden = true;
  }

  draw() {
    fill(this.holder, this.rows.length ? table({
      label: "Clauses of the program",
      head: ["clause", "occur", "weight", "", "in", "df", "share", "from"],
      numbers: ["df", "share"],
      items: this.rows,
      classes: "program",
      row: (row) => this.cells(row),
    }) : el("p", { class: "soft" }, "The program has no clause: add one."));
    this.fault.textContent = "";
  }

  cells(row) {
    const { clause } = row;
    const name = clipped(label(clause), 60);
    const remove = el("button", { type: "button", class: "quiet" });
    const show = () => {
      remove.textContent = row.removed ? "put back" : "remove";
      remove.setAttribute("aria-label", `${row.removed ? "Put back" : "Remove"} ${name}`);
      remove.closest("tr")?.classList.toggle("removed", row.removed);
    };
    remove.addEventListener("click", () => {
      row.removed = !row.removed;
      this.waiting.hidden = false;
      show();
      this.actions.say(`${row.removed ? "Removed" : "Put back"} ${name}. Run the program to see what it does.`);
    });
    show();
    return [
      rowHead({ dir: "auto" }, clipped(label(clause))),
      el("td", {}, this.occur(row, name)),
      el("td", {}, this.weight(row, name)),
      el("td", {}, remove),
      clipped(fieldOf(clause), 40), df(clause.df), share(clause.df, this.found.documents), clipped(origin(clause)),
    ];
  }

  occur(row, name) {
    const options = OCCURS.map((occur) => el("option", { value: occur, selected: occur === row.occur }, occur.replace("_", " ")));
    return el("select", { "aria-label": `Occur of ${name}`, on: { change: (event) => { row.occur = event.target.value; } } }, options);
  }

  weight(row, name) {
    return el("input", {
      type: "text", inputmode: "decimal", size: "6", value: row.weight, "aria-label": `Weight of ${name}`, autocomplete: "off",
      on: {
        input: (event) => {
          row.weight = event.target.value;
          event.target.setAttribute("aria-invalid", String(weightOf(row.weight) === null));
        },
        focus: (event) => event.target.select(),
      },
    });
  }

  form() {
    const run = (event) => {
      event.preventDefault();
      this.run();
    };
    return el("form", { "aria-label": "Edit the program", novalidate: true, on: { submit: run, input: () => { this.waiting.hidden = false; } } }, this.holder, this.fault,
      el("p", { class: "actions" }, el("button", { type: "submit" }, "Run the program"),
        el("button", { type: "button", class: "plain", on: { click: () => {
          this.reset();
          this.actions.say("The program stands as it was searched.");
        } } }, "Undo edits"), this.waiting));
  }

  run() {
    const kept = this.rows.filter((row) => !row.removed);
    const wrong = kept.find((row) => weightOf(row.weight) === null);
    if (wrong) {
      this.fault.textContent = `The weight of ${clipped(label(wrong.clause), 60)} is ${clipped(wrong.weight, 30) || "empty"}: give a number from 0 to 1e30.`;
      this.holder.querySelector('[aria-invalid="true"]')?.focus();
      return;
    }
    const clauses = kept.map((row) => ({ ...row.clause, occur: row.occur, weight: weightWas(row) }));
    this.actions.run({ ...this.found.program, clauses });
  }

  adding() {
    const given = el("input", { id: "add-clause", type: "text", "aria-describedby": "add-help", autocomplete: "off", spellcheck: "false", dir: "auto" });
    const fault = el("p", { class: "fault", role: "alert" });
    const add = async (event) => {
      event.preventDefault();
      fault.textContent = "";
      if (!given.value.trim()) return;
      try {
        const clauses = (await this.actions.bind(given.value)).map((clause) => ({ ...clause, source: clause.source ?? ADDED }));
        if (!clauses.length) {
          fault.textContent = "Nothing of it is a term of this index: a stop word, or marks alone.";
          return;
        }
        this.rows.push(...clauses.map((clause) => ({ clause, occur: clause.occur, weight: weight(clause.weight), removed: false })));
        this.draw();
        this.waiting.hidden = false;
        given.value = "";
        this.actions.say(`Added ${clauses.map((clause) => clipped(label(clause), 60)).join(", ")}. Run the program to see what it does.`);
      } catch (problem) {
        fault.textContent = problem.message;
      }
    };
    return el("form", { class: "adding", "aria-label": "Add a clause", on: { submit: add } },
      el("label", { for: "add-clause" }, "Add clauses"),
      el("p", { class: "soft", id: "add-help" }, "As you would write them: ", el("code", {}, "glaze^2"), ", ", el("code", {}, '+"bare clay"'), ", ",
        el("code", {}, "-kiln"), ", ", el("code", {}, "category:tools"), "."),
      el("p", { class: "actions" }, given, el("button", { type: "submit", class: "plain" }, "Add")), fault);
  }
}

/** An untouched weight keeps all its digits, of which the field shows seven. */
function weightWas(row) {
  return row.weight === weight(row.clause.weight) ? row.clause.weight : weightOf(row.weight);
}

function textForm(text, actions) {
  const area = el("textarea", { id: "program-text", rows: "8", spellcheck: "false", autocomplete: "off", "aria-describedby": "text-help" });
  area.value = text ?? "";
  const run = (event) => {
    event.preventDefault();
    if (area.value.trim()) actions.runText(area.value);
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event);
  });
  return el("details", { id: "as-text" }, el("summary", {}, "As text"), el("form", { "aria-label": "The program as text", on: { submit: run } },
    el("label", { for: "program-text" }, "The program as text"), area,
    el("p", { id: "text-help", class: "soft" }, "One program; words behind ", el("code", {}, "="), " are terms of the index, others are analysed. Ctrl+Enter runs it."),
    el("p", { class: "actions" }, el("button", { type: "submit" }, "Run this text"))));
}
