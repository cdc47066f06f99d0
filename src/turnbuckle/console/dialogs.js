// What the page asks: a key, whether to stop, and how a fork should differ.

import { field, make } from "./dom.js";
import { parse, print } from "./exact.js";

export function keyForm(onKey) {
  // The key goes to `onKey` and nowhere else.
  const key = make("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const submit = (event) => {
    event.preventDefault();
    if (key.value.trim()) onKey(key.value.trim());
  };
  const button = make("button", { class: "main" }, "Use this key");
  return make("form", { class: "key", submit }, make("label", { for: "key" }, "API key"), key, button);
}

export function confirmStop(onYes) {
  const text = make("p", {}, "A component that runs has 5 seconds to end. What is done stays done.");
  open("Stop this run?", [text], "Stop the run", onYes, "danger");
}

export function askFork(component, run, kept, onFork) {
  // onFork({outputs?, route?, dry_run}) may reject; what it says stands in the dialog.
  const boxes = Object.entries(kept.outputs ?? {}).map(([route, value]) => outputBox(route, value));
  const route = make("input", { id: "fork-route", value: run.route ?? "", autocomplete: "off", spellcheck: "false" });
  const dry = make("input", { type: "checkbox" });
  const parts = [
    make("p", {}, "A new run takes over everything up to ", field(component.title, "b"), " and goes on from there."),
    ...boxes.map(({ element }) => element),
    make("div", { class: "asked" }, make("label", { for: "fork-route" }, "Leaves by"), route),
    make("label", {}, dry, " Dry run: effects on the outside are noted, not done"),
  ];
  open("Fork from here", parts, "Start the fork", () => {
    const outputs = boxes.map(({ route: name, read }) => ({ route: name, value: read() }));
    const isEdited = boxes.some(({ isEdited: edited }) => edited());
    const other = route.value.trim();
    return onFork({
      ...(isEdited ? { outputs } : {}),
      ...(other && other !== run.route ? { route: other } : {}),
      ...(dry.checked ? { dry_run: true } : {}),
    });
  });
}

function outputBox(route, value) {
  const before = print(value);
  const rows = Math.min(10, before.split("\n").length + 1);
  const box = make("textarea", { rows, spellcheck: "false", "aria-label": `Output ${route}` }, before);
  const read = () => {
    try {
      return parse(box.value);
    } catch (cause) {
      throw new Error(`The output ${route} is no JSON: ${cause.message}`);
    }
  };
  const element = make("div", { class: "asked" }, field(route, "code"), box);
  return { route, element, read, isEdited: () => box.value !== before };
}

function open(title, parts, yes, onYes, tone = "main") {
  const trouble = make("p", { class: "bad", role: "alert" });
  const act = make("button", { class: tone }, yes);
  const submit = async (event) => {
    event.preventDefault();
    act.disabled = true;
    try {
      await onYes();
      dialog.close();
    } catch (error) {
      trouble.textContent = error.message;
    }
    act.disabled = false;
  };
  const cancel = make("button", { type: "button", click: () => dialog.close() }, "Cancel");
  const buttons = make("div", { class: "actions" }, cancel, act);
  const form = make("form", { submit }, make("h2", {}, title), ...parts, trouble, buttons);
  const dialog = make("dialog", { close: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}
