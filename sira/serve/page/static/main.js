// The page: a question goes out, a search explained comes back, and stands here in parts.

import * as api from "./api.js";
import { curlOf } from "./copying.js";
import { byId, clipped, el, fill, isKey } from "./dom.js";
import { count, counted } from "./format.js";
import { problemBox, told } from "./problem.js";
import { Reader } from "./reader.js";
import { showResults, summary } from "./results.js";
import { linesOf, sketchOf } from "./sketch.js";
import * as address from "./state.js";

const SLOW_MS = 4000;
const WELCOME = byId("empty");
const TITLE = document.title;
const WIDE = matchMedia("(min-width: 64rem)"); // the sketch stands beside the question
const served = new Map();
let hasModel = false;
let mostDepth = address.MOST_DEPTH;
let mostDocids = 20;
let usual = ""; // the index of an address that names none
let state = address.empty();
let log = []; // the verdicts of the search that a program was edited from
let running = null;

const reader = new Reader(api);

const say = (text) => { byId("status").textContent = text; };

// ------------------------------------------------------------------------------------------------ what is asked

function fillForm() {
  byId("question").value = state.question;
  byId("phrases").value = state.phrases;
  byId("model").checked = state.model;
  byId("depth").value = String(state.k);
  if (served.has(state.index)) byId("index").value = state.index;
  facts();
  sketching();
}

function facts() {
  const index = served.get(byId("index").value);
  byId("index-facts").textContent = index?.fault ? clipped(index.fault) : index?.documents ? counted(index.documents, "document") : "";
  byId("model-choice").hidden = !hasModel;
}

function sketching() {
  const sketch = sketchOf(byId("phrases").value);
  const number = sketch ? sketch.phrases.length + sketch.facets.length : 0;
  byId("sketch-count").textContent = number ? `(${count(number)})` : "";
  if (number && WIDE.matches) byId("sketching").open = true;
}

/** The search of the form; null, and told why, where it cannot be asked. */
function asked() {
  const k = address.depthOf(byId("depth").value, mostDepth);
  byId("depth").setAttribute("aria-invalid", String(k === null));
  if (!byId("question").value.trim()) return refuse("question", "Type a question first.");
  if (k === null) return refuse("depth", `Hits: give a number from 1 to ${count(mostDepth)}.`);
  return {
    ...address.empty(), k, index: byId("index").value, question: byId("question").value.trim(), phrases: byId("phrases").value,
    by: byId("phrases").value === state.phrases ? state.by : "", model: hasModel && byId("model").checked,
  };
}

function refuse(field, why) {
  say(why);
  byId(field).focus();
  return null;
}

function body({ k, program, text, question, phrases, model, by }) {
  if (program) return { k, program };
  if (text) return { k, program_text: text };
  const sketch = sketchOf(phrases);
  if (model) return { k, topic: question, llm: true };
  if (sketch && by) sketch.provenance = { model: "of the server" };
  return sketch ? { k, topic: question, sketch } : { k, topic: question };
}

// ------------------------------------------------------------------------------------------------ running it

async function run(next, { remember = true } = {}) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  state = next;
  busy(true);
  say("Searching …");
  fill(byId("problem"));
  const slow = setInterval(() => say(`Still searching: ${counted(Math.round((performance.now() - begun) / 1000), "second")}. Escape cancels.`), SLOW_MS);
  const begun = performance.now();
  try {
    const found = await api.explain(state.index, body(state), mine.signal);
    if (running !== mine) return;
    if (state.model && found.sketch) takeSketch(found.sketch);
    const whole = !remember || address.push(state);
    show(found);
    say((state.program || state.text ? "The program was run: " : "") + summary(found) + (whole ? "" : " The program is too long for an address: a link to it is not made."));
  } catch (problem) {
    if (running !== mine) return;
    if (problem.name === "AbortError") say("Cancelled.");
    else fail(told(problem));
  } finally {
    clearInterval(slow);
    if (running === mine) busy(false);
  }
}

/** What the model wrote stands in the form, and in the address in place of the model. */
function takeSketch(sketch) {
  Object.assign(state, { phrases: linesOf(sketch), model: false, by: "model" });
  byId("phrases").value = state.phrases;
  byId("model").checked = false;
  sketching();
}

function busy(yes) {
  byId("results").setAttribute("aria-busy", String(yes));
  byId("cancel").hidden = !yes;
  if (!yes) running = null;
}

function fail(problem) {
  say("");
  fill(byId("problem"));
  if (problem.status === 401) {
    byId("token-form").hidden = false;
    byId("token").focus();
    if (!api.hasToken()) return; // the first time it is a question, not a fault
  }
  fill(byId("problem"), problemBox(problem, again, byId("hits") !== null));
}

function again() {
  fill(byId("problem"));
  byId("token-form").hidden = true;
  if (served.size) run(state);
  else start();
}

// ------------------------------------------------------------------------------------------------ what came of it

/** Show a search. What is done with its parts belongs to it, also when another search was begun and cancelled since. */
function show(found) {
  const shown = state;
  if (served.has(shown.index)) served.get(shown.index).documents = found.documents;
  facts();
  const written = shown.text ? "text" : shown.program ? "edited" : "";
  if (written && !found.program.verdicts.length) found.program.verdicts = log;
  else log = found.program.verdicts;
  document.title = shown.question ? `${clipped(shown.question, 60)} – sira` : TITLE;
  showResults(found, written, {
    say,
    mostDocids,
    why: async (docids) => (await api.explain(shown.index, { ...body(shown), docids })).missed,
    curl: () => curlOf(api.searching(shown.index), body(shown), api.hasToken()),
    read: (docid, passage) => reader.open(found, shown.index, docid, passage),
    run: (program) => run({ ...shown, program: address.bare(program), text: "" }),
    runText: (text) => run({ ...shown, program: null, text }),
    back: () => run({ ...shown, program: null, text: "" }),
    bind: (text) => api.bound(shown.index, text),
  });
}

// ------------------------------------------------------------------------------------------------ beginning

function listen() {
  const submit = (event) => {
    event.preventDefault();
    const next = asked();
    if (next) run(next);
  };
  byId("ask").addEventListener("submit", submit);
  byId("question").addEventListener("keydown", (event) => {
    if (isKey(event, "Enter") && !event.shiftKey) submit(event);
  });
  byId("phrases").addEventListener("input", sketching);
  byId("phrases").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  });
  byId("index").addEventListener("change", facts);
  byId("cancel").addEventListener("click", cancel);
  document.addEventListener("keydown", (event) => {
    if (isKey(event, "Escape") && running && !byId("reader").open) cancel();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("results").focus();
  });
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    api.keepToken(byId("token").value.trim());
    byId("token").value = "";
    again();
  });
  window.addEventListener("popstate", () => fromAddress());
}

function cancel() {
  running?.abort();
  byId("question").focus();
}

async function fromAddress() {
  const { state: given, fault } = address.read(location.hash);
  if (!given.index) given.index = usual;
  state = given;
  fillForm();
  byId("reader").close();
  if (given.question || given.program || given.text) await run(given, { remember: false });
  else begin();
  if (fault) fill(byId("problem"), el("p", { class: "fault" }, fault));
}

/** As at the first visit: nothing is asked. */
function begin() {
  running?.abort();
  say("");
  document.title = TITLE;
  fill(byId("problem"));
  fill(byId("results"), WELCOME);
}

async function start() {
  try {
    const [{ indexes, default: first }, { settings }] = await Promise.all([api.indexes(), api.version()]);
    hasModel = settings?.model === true;
    mostDepth = settings?.limits?.explain_k ?? address.MOST_DEPTH;
    mostDocids = settings?.limits?.docids ?? mostDocids;
    usual = first ?? indexes[0]?.name ?? "";
    served.clear();
    for (const index of indexes) served.set(index.name, index);
    fill(byId("index"), ...indexes.map((index) => el("option", { value: index.name }, clipped(index.name, 60))));
    if (!indexes.length) say("This server has no index.");
    await fromAddress();
    if (!location.hash) byId("question").focus();
  } catch (problem) {
    fail(told(problem));
  }
}

byId("sketching").open = WIDE.matches;
listen();
start();
