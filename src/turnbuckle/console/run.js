// One run as the server tells of it: its record, document and events, read again and again.

import { ofTrace, read } from "./definition.js";
import { ENDED, Trace } from "./trace.js";

const PAGE = 1000; // events in one answer
const OVERLAP_MS = 2000; // read again each time: two events may share a moment, and one may come late
const LAST_WORDS = 2; // looks after the end: a stopped run has its status before its last events

export class Run {
  constructor(api, address) {
    this.api = api;
    Object.assign(this, placeOf(address)); // org, blob, session, execution, revision
    this.trace = new Trace();
    this.record = null;
    this.definition = null;
    this.documentOf = undefined; // the hash of the document that `definition` is, null before the start
    this.looksAfterEnd = 0;
  }

  get isOver() {
    return this.looksAfterEnd > LAST_WORDS;
  }

  async look(onEvents) {
    // What is new since the last look. Trouble when it cannot be had.
    if (this.about === undefined) await this.#meet();
    this.record = (await this.#query("get_execution")).execution;
    await this.#hear(onEvents);
    if (this.definition === null || this.documentOf !== this.record.document_sha256) await this.#readDefinition();
    if (ENDED.has(this.record.status)) this.looksAfterEnd += 1;
  }

  async data(dataId) {
    return (await this.#query("get_execution_data", { data_id: dataId })).data[0];
  }

  stop() {
    return this.#command("stop_execution");
  }

  goOn() {
    return this.#command("continue_execution");
  }

  async fork(componentKey, edits) {
    // The address of the new run.
    const { execution } = await this.#command("fork_execution", { component_key: componentKey, ...edits });
    return `./${encodeURIComponent(execution.id)}?revision=${encodeURIComponent(this.revision)}`;
  }

  async #meet() {
    const blob = `blobs/${encodeURIComponent(this.org)}/${encodeURIComponent(this.blob)}`;
    const about = (await this.api.get(blob)).blob;
    this.revision ??= (await this.api.get(`${blob}/revisions/default`)).revision.id;
    this.sessionRecord = (await this.api.query(this.revision, "get_session", { session_id: this.session })).session;
    this.about = about;
  }

  async #hear(onEvents) {
    const since = this.newest === undefined ? {} : { created_since: earlier(this.newest, OVERLAP_MS) };
    let cursor = null;
    do {
      const from = cursor === null ? {} : { cursor };
      const page = await this.#query("list_execution_events", { ascending: true, limit: PAGE, ...since, ...from });
      const events = page.execution_events.filter((event) => this.trace.add(event));
      for (const { created_at: at } of events) if (!(at < this.newest)) this.newest = at;
      onEvents(events);
      cursor = page.cursor ?? null;
    } while (cursor !== null);
  }

  async #readDefinition() {
    const sha256 = this.record.document_sha256;
    try {
      this.definition = read((await this.#query("get_execution_definition")).definition_object);
      this.isWhole = true;
    } catch (trouble) {
      if (trouble.kind !== "denied" && trouble.kind !== "refused") throw trouble;
      this.definition = ofTrace(this.trace); // it lives where this key does not reach, or is gone
      this.isWhole = false;
      if (!ENDED.has(this.record.status)) return; // more components may come
    }
    this.documentOf = sha256;
  }

  #query(command, more) {
    return this.api.query(this.revision, command, { execution_id: this.execution, ...more });
  }

  #command(command, more) {
    return this.api.command(this.revision, command, { execution_id: this.execution, ...more });
  }
}

function placeOf({ pathname, search }) {
  const [org, blob, , session, execution] = pathname.split("/").slice(-5).map(decoded);
  return { org, blob, session, execution, revision: new URLSearchParams(search).get("revision") ?? undefined };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // no client writes it so: the server will know no such run
  }
}

function earlier(iso, ms) {
  return new Date(Date.parse(iso) - ms).toISOString().replace("Z", "000Z"); // six digits, as the API writes them
}
