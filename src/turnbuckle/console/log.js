// The event log: every event of the run, oldest first. It keeps up with the newest until somebody scrolls back.

import { clock, field, make } from "./dom.js";
import { print } from "./exact.js";
import { json } from "./values.js";

export class Log {
  constructor({ list, count, filter, mine, download }, onSelect) {
    Object.assign(this, { list, count, filter, mine, onSelect });
    this.rows = []; // {event, row}
    this.selected = null;
    this.isFollowing = true;
    filter.addEventListener("input", () => this.#show());
    mine.addEventListener("change", () => this.#show());
    download.addEventListener("click", () => this.#save());
    list.addEventListener("scroll", () => {
      this.isFollowing = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    });
    list.addEventListener("click", (event) => {
      if (getSelection().type !== "Range") this.#open(event.target.closest("li")); // a text may be marked and copied
    });
    list.addEventListener("keydown", (event) => this.#key(event));
  }

  add(events) {
    if (events.length === 0) return;
    const added = events.map((event) => ({ event, row: rowOf(event) }));
    this.rows.push(...added);
    for (const each of added) each.row.hidden = !this.#fits(each.event);
    this.list.append(...added.map(({ row }) => row));
    this.count.textContent = this.rows.length.toLocaleString();
    this.keepUp();
  }

  keepUp() {
    if (this.isFollowing) this.list.scrollTop = this.list.scrollHeight;
  }

  clear() {
    this.rows = [];
    this.list.replaceChildren();
    this.count.textContent = "";
  }

  select(id) {
    this.selected = id;
    for (const { event, row } of this.rows) row.classList.toggle("selected", id !== null && componentOf(event) === id);
    if (this.mine.checked) this.#show();
  }

  #fits(event) {
    const words = this.filter.value.trim().toLowerCase();
    if (this.mine.checked && this.selected !== null && componentOf(event) !== this.selected) return false;
    if (words === "") return true;
    const { processor_name: name = "", processor_type: type = "" } = event.attributes ?? {};
    return `${event.type} ${event.message ?? ""} ${name} ${type}`.toLowerCase().includes(words);
  }

  #show() {
    for (const { event, row } of this.rows) row.hidden = !this.#fits(event);
  }

  #open(row) {
    const found = this.rows.find((each) => each.row === row);
    if (found === undefined) return;
    const opened = row.querySelector("pre");
    if (opened === null) row.append(json(found.event));
    else opened.remove();
    const id = componentOf(found.event);
    if (id !== null && opened === null) this.onSelect(id);
  }

  #key(event) {
    const row = document.activeElement?.closest(".events > li");
    if (event.key === "Enter") return this.#open(row);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const shown = this.rows.filter((each) => !each.row.hidden);
    if (step === undefined || shown.length === 0) return;
    event.preventDefault();
    const index = shown.findIndex((each) => each.row === row);
    shown.at(index < 0 ? -1 : Math.min(shown.length - 1, Math.max(0, index + step))).row.focus();
  }

  #save() {
    const lines = this.rows.map(({ event }) => `${print(event, "")}\n`);
    const address = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    const name = `${this.rows[0]?.event.execution_id ?? "events"}.jsonl`;
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
}

function rowOf(event) {
  const at = make("time", { datetime: event.created_at, title: event.created_at }, clock(event.created_at));
  const [family, kind] = event.type.split(".");
  const tone = { error: "bad", warning: "warn" }[kind] ?? family;
  const type = field(event.type, "code", { class: `tone ${tone}` });
  return make("li", { tabindex: "-1" }, at, type, field(event.message ?? "", "span", { class: "message" }));
}

function componentOf(event) {
  const id = event.attributes?.processor_id;
  return id === undefined ? null : String(id);
}
