// The debugger page: follows one run, and shows what can be done when something is in the way.

import { adviceFor, away, KEPT, readOnly, UNDRAWN, USE_A_KEY } from "./advice.js";
import { Api } from "./api.js";
import { askFork, confirmStop, keyForm } from "./dialogs.js";
import { duration, field, make } from "./dom.js";
import { Graph } from "./graph.js";
import { Inspector } from "./inspector.js";
import { Log } from "./log.js";
import { Run } from "./run.js";
import { ENDED } from "./trace.js";

const POLL_MS = 1000;
const TOLD_MS = 8000; // how long the answer to something done stays
const RETRY_MS = [1000, 2000, 4000, 8000]; // the last one again and again
const $ = (id) => document.getElementById(id);

const api = new Api(new URL("../../../../v1/", location));
let run = new Run(api, location);
let selected = null;
let drawn = null; // the definition that the graph shows
let told = { until: 0 }; // what an action was answered: {text, until}
let follower = 0; // the newest of those that follow: older ones end

const graph = new Graph($("graph"), select);
const log = new Log(
  { list: $("events"), count: $("count"), filter: $("filter"), mine: $("mine"), download: $("download") },
  select,
);
const inspector = new Inspector($("inspector"), {
  load: (dataId) => run.data(dataId),
  fork: (component, componentRun, key, kept) =>
    askFork(component, componentRun, kept, async (edits) => location.assign(await mayChange(run.fork(key, edits)))),
});

async function follow() {
  const me = ++follower;
  for (let failures = 0; me === follower && !run.isOver; ) {
    let waitMs = POLL_MS;
    try {
      await run.look((events) => log.add(events));
      failures = 0;
      show();
    } catch (trouble) {
      if (trouble.kind === undefined) throw trouble;
      if (trouble.kind !== "away") return meet(trouble);
      waitMs = trouble.retryMs ?? RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)];
      wait(trouble, waitMs);
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    await visible();
  }
}

function visible() {
  // A tab that nobody sees asks for nothing.
  if (!document.hidden) return null;
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

// -- showing -------------------------------------------------------------------------------------------------------

function show() {
  const { record, trace, definition } = run;
  $("notice").hidden = true;
  $("workspace").hidden = false;
  if (drawn !== definition) {
    const isNew = drawn === null || drawn.components.length !== definition.components.length || run.isWhole;
    if (isNew) graph.show(definition);
    graph.select(selected);
    drawn = definition;
  }
  graph.update(trace, record);
  log.keepUp();
  inspect();
  showTop(record, trace);
  standing(record);
}

function standing(record) {
  if (told.until > Date.now()) tell(told.text, "bad");
  else if (record.error) tell(`${record.error.message} (${record.error.code})`, "bad", record.error.component_id);
  else tell(run.isWhole ? null : UNDRAWN);
}

function showTop(record, trace) {
  const isPaused = trace.paused().length > 0 && record.status === "running";
  const status = isPaused ? "paused" : record.status;
  const name = record.definition_alias ?? "Run";
  if ($("status").dataset.status !== status) {
    $("status").dataset.status = status;
    $("status").textContent = status;
    $("status").hidden = false;
    document.title = `${name} · ${status}`;
    $("title").replaceChildren(field(name));
    $("place").replaceChildren(field(`${run.about.alias} · ${record.id}`));
    showActions(record.status, isPaused);
  }
  showClock();
}

function showClock() {
  const { started_at: from, ended_at: to, status } = run.record ?? {};
  if (!from) $("clock").textContent = status === "creating" ? "waits for a worker" : "";
  else $("clock").textContent = duration(Math.max(0, (to ? Date.parse(to) : Date.now()) - Date.parse(from)));
}

function showActions(status, isPaused) {
  const key = api.key === null ? button("Use a key", () => ask(USE_A_KEY)) : button("Forget key", forget);
  const goOn = button("Continue", () => mayChange(run.goOn()).catch(answered), "main");
  const stop = button("Stop…", () => confirmStop(() => mayChange(run.stop())), "danger");
  $("actions").replaceChildren(...[isPaused ? goOn : null, status === "running" ? stop : null, key].filter(Boolean));
}

const button = (text, click, tone = "") => make("button", { type: "button", class: tone, click }, text);

function select(id) {
  selected = id;
  graph.select(id);
  log.select(id);
  inspect();
}

function inspect() {
  if (run.record === null) return;
  const { definition, trace, record, sessionRecord: session } = run;
  inspector.show(selected, { definition, trace, record, session });
}

function tell(text, tone = "", componentId = null) {
  const banner = $("banner");
  banner.hidden = text === null;
  if (banner.dataset.told === String(text)) return; // said already: a reader of the screen need not hear it again
  banner.dataset.told = String(text);
  banner.className = `banner ${tone}`;
  const look = () => {
    select(componentId);
    graph.reveal(componentId);
  };
  banner.replaceChildren(field(text ?? ""), ...(componentId === null ? [] : [button("Show the component", look)]));
}

function answered({ message }) {
  told = { text: message, until: Date.now() + TOLD_MS };
  tell(message, "bad");
}

// -- what may be in the way ----------------------------------------------------------------------------------------

function wait(trouble, waitMs) {
  const again = `Trying again in ${duration(waitMs)}.`;
  if (run.record === null) notice(away(trouble, again));
  else tell(`${trouble.message} What you see is the last that was known. ${again}`, "warn");
}

function meet(trouble) {
  // What waiting does not mend.
  const advice = adviceFor(trouble, api.key !== null);
  if (trouble.kind === "key") api.use(null);
  else if (run.record !== null) return tell(`${trouble.message} The page no longer follows the run.`, "bad");
  if (trouble.kind === "refused") notice(advice);
  else ask(advice);
}

function ask(advice) {
  const back = run.record === null ? [] : [button("Back to the run", follow)];
  follower += 1; // a question ends what follows
  notice(advice, keyForm(use), make("p", { class: "hint" }, KEPT), ...back);
  $("key").focus();
}

function notice({ title, texts }, ...more) {
  tell(null);
  $("workspace").hidden = true;
  $("notice").hidden = false;
  $("notice").replaceChildren(make("h1", {}, title), ...texts.map((text) => field(text, "p")), ...more);
}

function use(key) {
  api.use(key);
  restart();
}

function forget() {
  api.use(null);
  restart();
}

function restart() {
  [run, drawn, selected, told] = [new Run(api, location), null, null, { until: 0 }];
  log.clear();
  delete $("status").dataset.status;
  $("actions").replaceChildren();
  follow();
}

async function mayChange(command) {
  try {
    return await command;
  } catch (trouble) {
    if (trouble.kind !== "denied" && trouble.kind !== "key") throw trouble;
    throw new Error(readOnly(api.key !== null));
  }
}

$("smaller").addEventListener("click", () => graph.zoom(1 / 1.25));
$("larger").addEventListener("click", () => graph.zoom(1.25));
$("fit").addEventListener("click", () => graph.fit());
setInterval(() => run.record && !ENDED.has(run.record.status) && showClock(), 1000);
$("place").replaceChildren(field(run.execution));
follow();
