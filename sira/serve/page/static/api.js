// The HTTP API as this page uses it. Addresses are relative, so that the page also works below a path of a proxy.

const TOKEN = "sira.token";
let held = "";

/** An answer that is no result: problem+json (RFC 9457), or what stands for it where none came. */
export class Problem extends Error {
  constructor({ status = 0, title = "", detail = "", remedy = "", request = "", wait = null }) {
    super(detail || title);
    Object.assign(this, { status, title, detail, remedy, request, wait });
  }
}

/** The token of this tab; where the browser allows no storage, of this page as it stands. */
export function keepToken(token) {
  held = token;
  try {
    sessionStorage.setItem(TOKEN, token);
  } catch { /* storage is switched off: it stays in memory */ }
}

export const hasToken = () => token() !== "";

function token() {
  try {
    return held || sessionStorage.getItem(TOKEN) || "";
  } catch {
    return held;
  }
}

async function ask(method, path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token()) headers.Authorization = `Bearer ${token()}`;
  let answer;
  let data;
  try {
    answer = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    data = text ? parsed(text) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "The server does not answer",
      detail: "It was stopped, or the connection broke.",
      remedy: "Check that it runs, then try again.",
    });
  }
  if (answer.ok && data !== undefined) return data;
  throw problem(answer, data);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problem(answer, data) {
  const said = data && typeof data === "object" ? data : {};
  const texts = (name) => (typeof said[name] === "string" ? said[name] : "");
  const wait = Number.parseInt(answer.headers.get("Retry-After") ?? "", 10);
  return new Problem({
    status: answer.status,
    title: texts("title") || (answer.ok ? "The answer is no JSON" : `The server answered ${answer.status}`),
    detail: texts("detail"),
    remedy: texts("remedy") || (Number.isFinite(wait) ? `Try again in ${wait} s.` : ""),
    request: texts("request_id") || answer.headers.get("X-Request-ID") || "",
    wait: Number.isFinite(wait) ? wait : null,
  });
}

const at = (index, rest) => `v1/indexes/${encodeURIComponent(index)}/${rest}`;

/** The indexes that are served by name, with the `fault` of each that cannot be opened, and the `default` one. */
export const indexes = (signal) => ask("GET", "v1/indexes", { signal });

/** What the server tells of itself: `settings`, with `model` and `limits`. */
export const version = (signal) => ask("GET", "version", { signal });

/** A whole search explained (docs/explaining.md), and its program in the text form. */
export const explain = (index, body, signal) => ask("POST", at(index, "explain"), { body, signal });

/** The whole address of a search on an index. */
export const searching = (index) => new URL(at(index, "search"), document.baseURI).href;

/** The clauses that a program in the text form has on an index. */
export async function bound(index, text, signal) {
  const answer = await ask("POST", at(index, "compile"), { body: { program_text: text }, signal });
  return answer.program.clauses;
}

/** Lines of a document: `text` from line `first` to `last` of `total`, and `next_offset`. */
export function lines(index, docid, offset, limit, signal) {
  const asked = new URLSearchParams({ docid, offset: String(offset), limit: String(limit) });
  return ask("GET", at(index, `documents?${asked}`), { signal });
}

/** Where a text stands in a document, from match `offset` on: `total`, and `matches` with the line of each. */
export const find = (index, docid, pattern, offset, signal) =>
  ask("POST", at(index, "find"), { body: { docid, pattern, offset, limit: 1 }, signal });
