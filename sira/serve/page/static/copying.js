// What goes to the clipboard: a text, or a search as a command of curl.

import { el } from "./dom.js";

const ACTING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A command that a POSIX shell takes: the body stands in single quotes, characters that would act on a terminal as escapes of JSON. */
export function curlOf(url, body, hasToken) {
  const json = JSON.stringify(body).replace(ACTING, (letter) =>
    Array.from({ length: letter.length }, (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
  const token = hasToken ? ' -H "Authorization: Bearer $SIRA_TOKEN"' : "";
  return `curl -s ${quoted(url)} -H 'Content-Type: application/json'${token} -d ${quoted(json)}`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A button that copies what `text()` gives, and tells so. */
export function copyButton(name, text, say) {
  return el("button", { type: "button", class: "plain", on: { click: async (event) => {
    say(await copied(text(), event.target) ? "Copied." : "The browser does not let the page copy.");
  } } }, name);
}

/** Without TLS only a page of this machine has the clipboard of its own: others copy what is selected. */
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    button.after(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    return done;
  }
}
