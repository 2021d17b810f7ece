// Tables: figures to the right, texts of any direction, long ones begin with the first rows, and arrow keys where rows
// hold something to press or to fill in.

import { el } from "./dom.js";
import { count } from "./format.js";

export const FIRST_ROWS = 100;
const KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"]);
const FIELDS = "button, input, select";

/**
 * A table in a container that scrolls sideways, by keyboard too. `head` is a list of names; those of `numbers` head
 * figures. `row(item, place)` gives the cells of an item: texts, or elements.
 */
export function table({ label, head, numbers = [], items, row, classes = "" }) {
  const figures = new Set(numbers);
  const body = el("tbody");
  const add = (from, to) => {
    for (let place = from; place < to; place += 1) {
      body.append(el("tr", {}, row(items[place], place).map((cell, column) =>
        cell instanceof HTMLTableCellElement ? cell
          : el("td", { class: figures.has(head[column]) && "number", dir: !figures.has(head[column]) && "auto" }, cell))));
    }
  };
  add(0, Math.min(items.length, FIRST_ROWS));
  const whole = el("table", { class: classes || false }, el("caption", { class: "hidden" }, label),
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col", class: figures.has(name) && "number" }, name || el("span", { class: "hidden" }, "action"))))),
    body);
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, whole);
  if (items.length <= FIRST_ROWS) return scroll;
  const more = el("button", { type: "button", class: "more", on: { click: () => {
    add(FIRST_ROWS, items.length);
    more.remove();
    scroll.focus();
  } } }, `Show all ${count(items.length)} rows`);
  return el("div", {}, scroll, more);
}

/** The other cells of a table of hits: those of a row head. */
export const rowHead = (attributes, ...children) => el("th", { scope: "row", ...attributes }, ...children);

/**
 * Arrow keys move between the fields of a table: up and down in a column, left and right between buttons, Home and End
 * to the first and last row. Only one row is in the order of the Tab key. A list keeps its own arrow keys.
 */
export function rove(container) {
  const rows = () => [...container.querySelectorAll("tbody tr")];
  const tabbable = (row, yes) => row?.querySelectorAll(FIELDS).forEach((field) => { field.tabIndex = yes ? 0 : -1; });
  let current = null;
  const enter = (row) => {
    if (row === current) return;
    tabbable(current, false);
    tabbable(row, true);
    current = row;
  };
  const refresh = () => {
    const all = rows();
    const again = all.includes(current) ? current : all[0];
    all.forEach((row) => tabbable(row, row === again));
    current = again ?? null;
  };
  container.addEventListener("focusin", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) enter(row);
  });
  container.addEventListener("keydown", (event) => {
    const field = event.target.closest(FIELDS);
    const row = field?.closest("tbody tr");
    if (!row || !KEYS.has(event.key) || event.ctrlKey || event.altKey || event.metaKey || field.matches("select")) return;
    if (field.matches("input") && !event.key.startsWith("ArrowUp") && !event.key.startsWith("ArrowDown")) return;
    const next = goal(event.key, field, row, rows());
    if (!next) return;
    event.preventDefault();
    enter(next.closest("tr"));
    next.focus();
  });
  const brings = (node) => node.nodeName === "TR" || (node instanceof Element && node.querySelector("tr"));
  new MutationObserver((changes) => {
    if (changes.some((change) => [...change.addedNodes].some(brings))) refresh();
  }).observe(container, { childList: true, subtree: true });
  refresh();
  return container;
}

function goal(key, field, row, all) {
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const beside = [...row.querySelectorAll(FIELDS)];
    return beside[beside.indexOf(field) + (key === "ArrowLeft" ? -1 : 1)];
  }
  const column = field.closest("td, th").cellIndex;
  const place = all.indexOf(row);
  const step = key === "ArrowUp" || key === "End" ? -1 : 1;
  let at = { Home: 0, End: all.length - 1 }[key] ?? place + step;
  for (; at >= 0 && at < all.length; at += step) {
    const found = all[at].cells[column]?.querySelector(FIELDS);
    if (found) return found;
  }
  return null;
}
