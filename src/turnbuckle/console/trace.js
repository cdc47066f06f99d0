// What the events of a run say about its components (blobhub 5.7). A component may be entered many times.

export class Trace {
  constructor() {
    this.events = []; // in the order they came
    this.components = new Map(); // id -> {id, type, title, runs, isPaused}
    this.end = null; // the kept final values of the data components: the id of that data
    this.seen = new Set();
  }

  add(event) {
    // False when it was there already.
    if (this.seen.has(event.id)) return false;
    this.seen.add(event.id);
    this.events.push(event);
    const about = event.attributes ?? {};
    if (event.type.startsWith("processor.") && about.processor_id !== undefined) this.#note(event, about);
    else if (event.data?.data_id !== undefined) this.end = event.data.data_id;
    return true;
  }

  state(id, record) {
    // waiting | running | paused | done | failed | stopped | unreached
    const isLive = !ENDED.has(record.status);
    const component = this.components.get(id);
    const runs = component?.runs ?? [];
    const last = runs.at(-1);
    if (isLive && component?.isPaused) return "paused";
    if (isLive && runs.some((run) => run.exited === null)) return "running";
    if (last === undefined) return record.error?.component_id === id ? "failed" : isLive ? "waiting" : "unreached";
    if (last.exited === null) return record.status === "failed" ? "failed" : "stopped";
    return last.route === "failure" ? "failed" : "done";
  }

  paused() {
    return [...this.components.values()].filter((component) => component.isPaused);
  }

  took(edge) {
    // Whether the flow went along it.
    const runs = this.components.get(edge.source)?.runs ?? [];
    return runs.some((run) => run.route === edge.route && run.exited !== null);
  }

  #note(event, about) {
    const component = this.#component(about);
    if (event.type === "processor.paused") component.isPaused = true; // ours: a breakpoint
    if (event.type === "processor.entered") {
      component.isPaused = false;
      component.runs.push({ ...NEW, entered: event.created_at, notes: [] });
      return;
    }
    const open = component.runs.find((run) => run.exited === null);
    const run = event.type === "processor.exited" ? open : (open ?? component.runs.at(-1));
    if (run === undefined) return;
    if (event.type === "processor.exited") {
      run.exited = event.created_at;
      run.route = about.route ?? null;
      run.durationMs = about.duration_ms ?? null;
      run.isPinned = about.pinned === true;
      run.isTerminal = about.terminal === true;
      run.dataId = event.data?.data_id ?? null;
    } else run.notes.push(event);
  }

  #component(about) {
    const id = String(about.processor_id);
    const known = this.components.get(id);
    if (known !== undefined) return known;
    const [type, title] = [String(about.processor_type ?? ""), String(about.processor_name || id)];
    const made = { id, type, title, runs: [], isPaused: false };
    this.components.set(id, made);
    return made;
  }
}

const NEW = { exited: null, route: null, durationMs: null, dataId: null, isPinned: false, isTerminal: false };
export const ENDED = new Set(["completed", "failed", "stopped"]);
