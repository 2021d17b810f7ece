"""Scripts that look at a page in the browser."""

from __future__ import annotations

FOCUSED = "document.activeElement.id || document.activeElement.textContent.trim().slice(0, 30)"

FOCUS_RING = """() => {
  const style = getComputedStyle(document.activeElement);
  const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return document.activeElement === document.body || shown;
}"""

NAMELESS = """() => [...document.querySelectorAll(
    "button, input, select, textarea, summary, a, section, [role=region], form, dialog[open], nav")]
  .filter((item) => {
    const by = document.getElementById(item.getAttribute("aria-labelledby"));
    return !(item.getAttribute("aria-label") || item.labels?.length || item.textContent.trim() || by?.textContent);
  }).map((item) => item.outerHTML)"""
"""What a screen reader has no name for."""

NAMED_OTHERWISE = """() => [...document.querySelectorAll("button[aria-label], a[aria-label]")]
  .filter((item) => !item.ariaLabel.toLowerCase().includes(item.innerText.trim().toLowerCase()))
  .map((item) => item.outerHTML.slice(0, 120))"""
"""Buttons that cannot be called by what stands on them (WCAG 2.5.3)."""

ALIKE = """() => {
  const named = (item) => item.ariaLabel ?? document.getElementById(item.getAttribute("aria-labelledby"))?.textContent;
  const names = [...document.querySelectorAll("section, [role=region], form, nav")].map(named);
  return names.filter((name, place) => names.indexOf(name) !== place)
    .concat([...document.querySelectorAll("th")].filter((head) => !head.textContent.trim())
      .map((head) => head.outerHTML));
}"""
"""Regions of one name, and heads of tables without one."""

CONTROL_CONTRAST = """() => {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map((value) => linear(Number(value) / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (item) => {
    for (let at = item.parentElement; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let least = [99, ""];
  const controls = "input:not([type=checkbox]), textarea, select, .bar, mark, button:not(.quiet, .document)";
  for (const item of document.querySelectorAll(controls)) {
    if (!item.checkVisibility()) continue;
    const style = getComputedStyle(item);
    const [one, other] = [light(style.borderBottomColor), light(ground(item))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < least[0]) least = [ratio, item.outerHTML.slice(0, 80)];
  }
  return least;
}"""
"""The lowest contrast of the edge of a control, a bar or a mark against the ground around it."""

LISTENING = """() => [...document.querySelectorAll("*")].flatMap((item) => [...item.attributes])
  .filter((item) => /^on/i.test(item.name)).length"""
"""Attributes that would run a script."""

CONTRAST = """() => {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map((value) => linear(Number(value) / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (item) => {
    for (let at = item; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let least = [99, ""];
  for (const item of document.querySelectorAll("body *")) {
    const texts = [...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!texts || !item.checkVisibility() || item.tagName === "OPTION") continue;
    const [one, other] = [light(getComputedStyle(item).color), light(ground(item))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < least[0]) least = [ratio, item.outerHTML.slice(0, 80)];
  }
  return least;
}"""
"""The lowest contrast (WCAG 2) of a text against the ground behind it, and where."""

STICKING_OUT = """() => {
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter((item) => item.getBoundingClientRect().right > innerWidth + 1 && !item.closest(".scroll"))
    .map((item) => item.outerHTML.slice(0, 80)).concat("the page");
}"""
"""What is wider than the window, outside of the parts that scroll; empty where nothing is."""

LINES_OF_MARKS = """() => [".passage mark:not(.sketch)", "mark.sketch"]
  .map((kind) => getComputedStyle(document.querySelector(kind)).borderBottomStyle)"""

FILLS_OF_BARS = """() => [".bar:not(.sketch)", ".bar.sketch"]
  .map((kind) => getComputedStyle(document.querySelector(kind)).backgroundImage)"""

SET_MARKUP = """() => {
  try { document.body.innerHTML = "<b>text</b>"; return "done"; } catch (error) { return error.name; }
}"""

ADD_STYLE = """() => {
  const style = document.createElement("style");
  style.textContent = "body { display: none }";
  document.head.append(style);
  return getComputedStyle(document.body).display;
}"""

FETCH_OUTSIDE = "() => fetch('https://elsewhere.test/').then(() => 'done', (error) => error.name)"
