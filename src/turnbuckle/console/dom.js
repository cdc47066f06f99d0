// Elements. Text becomes text nodes only: nothing that came from a run is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";
// Control characters but tab and newline, marks that turn the direction of text, invisible ones, lone surrogates.
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu;

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function visible(text) {
  // What cannot be seen is shown as its escape: a NUL as \u0000.
  const shown = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const code = found[0].charCodeAt(0).toString(16).padStart(4, "0");
    shown.append(text.slice(from, found.index), make("span", { class: "escape" }, `\\u${code}`));
    from = found.index + found[0].length;
  }
  shown.append(text.slice(from));
  return shown;
}

export function field(text, tag = "span", attributes = {}) {
  return make(tag, attributes, visible(String(text ?? "")));
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const s = Math.floor(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours} h ${two(minutes)} min` : `${minutes} min ${two(seconds)} s`;
}

export function clock(iso) {
  // The reader's own time of day, to the millisecond.
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  return `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}
