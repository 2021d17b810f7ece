// Elements and texts. Every text goes in as a text node: nothing that a server or a reader wrote is ever read as HTML.

/**
 * An element with attributes and children (elements, or texts). `on` maps events to listeners, `class` and `dir` are
 * attributes like any other; false, null and undefined leave an attribute or a child out, true is an empty attribute.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  element.append(...there(children));
  return element;
}

/** Put these children in place of those that an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...there(children));
  return element;
}

const there = (children) => children.flat(2).filter((child) => child !== null && child !== undefined && child !== false);

export const byId = (id) => document.getElementById(id);

// Joiners are kept (scripts and emoji need them), soft hyphens go; what would act on the text around it is written out.
const ACTING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const KEPT = new Set(["\u200c", "\u200d", "\n", "\t"]);

/** A text with control and format characters as escapes, so that none of them acts. */
export function readable(text) {
  return String(text).replace(/\r\n?/g, "\n").replace(ACTING, (letter) => {
    if (KEPT.has(letter)) return letter;
    if (letter === "\u00ad") return "";
    const code = letter.codePointAt(0);
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

/** One line of at most so many characters, with an ellipsis where more was. */
export function clipped(text, characters = 160) {
  const line = readable(String(text).slice(0, 4 * characters)).replace(/\s+/g, " ").trim();
  const letters = Array.from(line);
  return letters.length <= characters && text.length <= 4 * characters ? line : `${letters.slice(0, characters - 1).join("")}…`;
}

/** A text of any script and direction that leaves the text around it alone. */
export const bdi = (text, attributes = {}) => el("bdi", attributes, text);

export function section(id, title, ...body) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title`, tabindex: "-1" }, title), ...body);
}

/** To the head of a section, with the keyboard. */
export function goTo(part) {
  const head = part.querySelector("h2");
  head.scrollIntoView({ block: "start" });
  head.focus({ preventScroll: true });
}

/** Whether a key event is this key alone, and not part of what an input method composes. */
export function isKey(event, key) {
  return event.key === key && !event.isComposing && !event.ctrlKey && !event.metaKey && !event.altKey;
}
