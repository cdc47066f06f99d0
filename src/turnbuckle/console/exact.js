// JSON with every number as it was written: 9007199254740993 and 1.0 stay what they are.

export class Exact {
  // A number that JavaScript would write otherwise.
  constructor(text) {
    this.text = text;
  }
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
const MARK = `exact ${crypto.getRandomValues(new Uint32Array(4)).join("-")}`; // no document has this key

export function parse(text) {
  // SyntaxError for what is no JSON.
  let isMarked = false;
  const marked = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || String(Number(token)) === token) return token;
    isMarked = true;
    return `{"${MARK}":"${token}"}`;
  });
  return isMarked ? JSON.parse(marked, unmarked) : JSON.parse(text);
}

function unmarked(_key, value) {
  const text = value !== null && typeof value === "object" ? Object.getOwnPropertyDescriptor(value, MARK) : undefined;
  return text === undefined ? value : new Exact(text.value);
}

export function print(value, indent = "  ", margin = "\n") {
  // On several lines; on one with `indent` "".
  if (value instanceof Exact) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = indent ? margin + indent : "";
  const isList = Array.isArray(value);
  const colon = indent ? ": " : ":";
  const parts = isList
    ? value.map((item) => print(item, indent, inner))
    : Object.entries(value).map(([key, item]) => JSON.stringify(key) + colon + print(item, indent, inner));
  const [open, close] = isList ? "[]" : "{}";
  if (parts.length === 0) return open + close;
  return open + inner + parts.join(`,${inner}`) + (indent ? margin : "") + close;
}
