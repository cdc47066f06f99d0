// Data values (blobhub 5.2) as a reader wants them: texts as texts, everything else as its JSON.

import { Exact, print } from "./exact.js";
import { field, make } from "./dom.js";

const TEXTS = { text: "text", string: "string", choice: "id" };
const NUMBERS = { integer: "integer", float: "float", boolean: "flag" };

export function showValue(route, value) {
  // A block headed by the route and the value's type.
  const type = typeof value?.type === "string" ? value.type : value === null ? "no value" : "json";
  const head = make("header", {}, field(route, "code"), field(type, "span", { class: "kind" }));
  return make("div", { class: "value" }, head, ...bodyOf(value, type));
}

function bodyOf(value, type) {
  if (value === null || value === undefined) return [];
  if (type === "turnbuckle.blob") return [large(value)];
  const plain = plainOf(value, type);
  if (plain === null) return [json(value)];
  return [plain, make("details", {}, make("summary", {}, "JSON"), json(value))];
}

function plainOf(value, type) {
  if (type in TEXTS) return typeof value[TEXTS[type]] === "string" ? prose(value[TEXTS[type]]) : null;
  if (type in NUMBERS) return isScalar(value[NUMBERS[type]]) ? prose(print(value[NUMBERS[type]])) : null;
  if (type === "message") return message(value.message);
  if (type === "messages" && Array.isArray(value.messages)) {
    const shown = value.messages.map(message);
    return shown.includes(null) ? null : make("div", { class: "thread" }, ...shown);
  }
  return null;
}

function message(message) {
  if (!Array.isArray(message?.content)) return null;
  const texts = message.content.map((block) => (typeof block?.text === "string" ? block.text : null));
  if (texts.length === 0 || texts.includes(null)) return null;
  return make("div", { class: "said" }, field(message.role ?? "", "span", { class: "role" }), prose(texts.join("\n")));
}

function large(value) {
  const bytes = value.blob?.size_bytes;
  const size = bytes === undefined ? "" : `, ${bytes} bytes`;
  return field(`A large value (${value.of ?? "json"}${size}), kept beside the run.`, "p", { class: "hint" });
}

const isScalar = (value) => value instanceof Exact || typeof value === "number" || typeof value === "boolean";
const prose = (text) => field(text, "p", { class: "prose" });
export const json = (value) => make("pre", { tabindex: "0" }, field(print(value), "code"));
