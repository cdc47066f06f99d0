// What is selected: one component and its runs, or the run as a whole.

import { clock, duration, field, make } from "./dom.js";
import { ENDED } from "./trace.js";
import { json, showValue } from "./values.js";

export class Inspector {
  constructor(host, { load, fork }) {
    Object.assign(this, { host, load, fork }); // load(data id) -> kept value; fork(run, kept, component)
    this.kept = new Map(); // data id -> promise
    this.shown = "";
    this.run = null; // the index of the shown run of a component; null: the newest
  }

  show(id, { definition, trace, record, session }) {
    if (id !== this.id) [this.id, this.run] = [id, null];
    const component = definition.components.find((one) => one.id === id);
    const runs = trace.components.get(id)?.runs ?? [];
    const index = this.run ?? runs.length - 1;
    const one = runs[index];
    const signs = [id, index, runs.length, one?.exited, one?.notes.length, record.updated_at, trace.end];
    if (signs.join() === this.shown) return; // nothing new: keep what is open, and the focus
    this.shown = signs.join();
    this.again = () => {
      this.shown = "";
      this.show(id, { definition, trace, record, session });
    };
    const isOne = component !== undefined;
    const parts = isOne ? this.#one(component, runs, index, trace, record) : this.#whole(record, trace, session);
    this.host.replaceChildren(...parts);
  }

  // -- a component -------------------------------------------------------------------------------------------------

  #one(component, runs, index, trace, record) {
    const head = [field(component.title, "h2"), field(component.type, "code", { class: "soft" })];
    const settings = settingsOf(component);
    if (component.isData) return [...head, ...this.#data(component, trace, record), settings];
    const state = trace.state(component.id, record);
    const chip = make("span", { class: "status", "data-status": state }, STATES[state]);
    const parts = [make("div", { class: "head" }, make("div", {}, ...head), chip)];
    if (runs.length > 1) parts.push(this.#steps(index, runs.length));
    if (runs[index] !== undefined) parts.push(...this.#run(component, runs[index]));
    else if (state === "paused") parts.push(hint("The run waits here at a breakpoint. Continue it to go on."));
    else parts.push(hint(state === "waiting" ? "The run has not come here yet." : "The run did not come here."));
    return [...parts, settings];
  }

  #steps(index, count) {
    const go = (text, label, to, disabled) => {
      const click = () => {
        this.run = to;
        this.again();
      };
      return make("button", { type: "button", "aria-label": label, disabled, click }, text);
    };
    const before = go("‹", "Run before", index - 1, index === 0);
    const after = go("›", "Run after", index + 1, index === count - 1);
    const newest = go("Newest", "Newest run", null, this.run === null);
    return make("div", { class: "steps" }, before, `Run ${index + 1} of ${count}`, after, newest);
  }

  #run(component, run) {
    const facts = {
      Entered: clock(run.entered),
      Left: run.exited && clock(run.exited),
      Took: run.durationMs === null ? null : duration(Number(run.durationMs)),
      Route: run.isTerminal ? `${run.route ?? ""} (ended the run)` : run.route,
      "Taken over": run.isPinned ? "from the run that this one was forked from" : null,
    };
    const notes = run.notes.map((event) => {
      return field(event.message ?? event.type, "li", { class: event.type.endsWith("error") ? "bad" : "" });
    });
    const parts = [factsOf(facts)];
    if (notes.length) parts.push(make("h3", {}, "Said"), make("ul", { class: "notes" }, ...notes));
    if (run.dataId !== null) parts.push(this.#payload(run.dataId, (kept) => this.#traffic(component, run, kept)));
    return parts;
  }

  #traffic(component, run, { component_key: key, value }) {
    const click = () => this.fork(component, run, key, value);
    const fork = make("button", { type: "button", click }, "Fork from here…");
    return [
      ...group("Inputs", value.inputs, "It took none."),
      ...group("Outputs", value.outputs, "It gave none."),
      key === null ? null : make("div", { class: "actions" }, fork),
    ];
  }

  #payload(dataId, parts) {
    // Fetched once, when somebody looks.
    const place = make("div", { class: "payload" }, hint("Loading…"));
    if (!this.kept.has(dataId)) this.kept.set(dataId, this.load(dataId));
    this.kept.get(dataId).then(
      (kept) => place.replaceChildren(...parts(kept).filter(Boolean)),
      (trouble) => {
        this.kept.delete(dataId);
        const again = make("button", { type: "button", click: () => this.again() }, "Try again");
        place.replaceChildren(field(trouble.message, "p", { class: "bad" }), again);
      },
    );
    return place;
  }

  #data(component, trace, record) {
    const setting = (route) => textOf(component.ports.find((port) => port?.route === route)?.value);
    const [alias, persistence] = [setting("alias"), setting("persistence")];
    const given = (record.input_data ?? []).filter((one) => one.alias === alias && persistence === "execution");
    const parts = [factsOf({ Alias: alias, Persistence: persistence })];
    for (const one of given) parts.push(make("h3", {}, "Given to the run"), showValue(one.alias, one.value));
    if (trace.end !== null && alias !== null) {
      parts.push(
        this.#payload(trace.end, ({ value }) => {
          return alias in (value.outputs ?? {}) ? group("At the end", { [alias]: value.outputs[alias] }) : [];
        }),
      );
    }
    return parts;
  }

  // -- the run as a whole ------------------------------------------------------------------------------------------

  #whole(record, trace, session) {
    const run = (id) => make("a", { href: `./${encodeURIComponent(id)}${location.search}` }, id.slice(0, 8));
    const facts = {
      Created: record.created_at && day(record.created_at),
      Started: record.started_at && clock(record.started_at),
      Ended: record.ended_at && clock(record.ended_at),
      Definition: record.definition_alias,
      Session: session?.alias ?? record.session_id,
      "Started by": record.trigger?.type,
      "Child of": record.parent_id && run(record.parent_id),
      "Forked from": record.fork && run(record.fork.execution_id),
      "Dry run": record.dry_run ? "yes: no effect on the outside is done" : null,
      Breakpoints: record.pause_before?.length ? `before ${record.pause_before.join(", ")}` : null,
    };
    const inputs = Object.fromEntries((record.input_data ?? []).map((one) => [one.alias, one.value]));
    const parts = [make("h2", {}, "The run"), factsOf(facts), ...group("Given to the run", inputs, "No inputs.")];
    if (trace.end !== null) parts.push(this.#payload(trace.end, ({ value }) => group("At the end", value.outputs)));
    if (!ENDED.has(record.status)) parts.push(hint("Select a component to see what it took and gave."));
    return parts;
  }
}

const STATES = {
  waiting: "waiting",
  running: "running",
  paused: "paused",
  done: "done",
  failed: "failed",
  stopped: "stopped",
  unreached: "not reached",
};
const hint = (text) => make("p", { class: "hint" }, text);
const day = (iso) => `${new Date(iso).toLocaleDateString()} ${clock(iso)}`;
const textOf = (value) => (typeof value === "string" ? value : (value?.text ?? value?.id ?? null));

function group(title, values, none) {
  const entries = Object.entries(values ?? {});
  if (entries.length === 0) return none === undefined ? [] : [make("h3", {}, title), hint(none)];
  return [make("h3", {}, title), ...entries.map(([route, value]) => showValue(route, value))];
}

function factsOf(facts) {
  const rows = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const shown = (value) => (value instanceof Node ? value : field(value));
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, shown(value))]));
}

function settingsOf(component) {
  const isSet = ({ route, value }) => typeof route === "string" && value !== null && value !== undefined;
  const ports = component.ports.filter((port) => port !== null && isSet(port));
  if (ports.length === 0) return "";
  const shown = ports.map((port) => (isValue(port.value) ? showValue(port.route, port.value) : bare(port)));
  return make("details", { class: "settings" }, make("summary", {}, "Settings"), ...shown);
}

const isValue = (value) => typeof value?.type === "string";
const bare = (port) => make("div", { class: "value" }, make("header", {}, field(port.route, "code")), json(port.value));
