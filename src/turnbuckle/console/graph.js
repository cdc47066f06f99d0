// The definition as a picture that follows the run. One tab stop; arrow keys go to the next component that way.

import { duration, field, make } from "./dom.js";
import { drawEdges } from "./edges.js";
import { layout } from "./layout.js";

const SYMBOLS = { paused: "❚❚", done: "✓", failed: "✕", stopped: "■" };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const [SMALLEST, READABLE, LARGEST] = [0.25, 0.75, 1.6]; // scales; "fit" does not go below the second

export class Graph {
  constructor(host, onSelect) {
    this.host = host; // scrolls
    this.onSelect = onSelect;
    this.scale = 1;
    this.nodes = new Map(); // id -> {button, ...}
    this.isFollowing = true; // until somebody looks around
    for (const kind of ["wheel", "pointerdown", "keydown"]) {
      host.addEventListener(kind, () => (this.isFollowing = false), { passive: true });
    }
    host.addEventListener("keydown", (event) => this.#key(event));
    host.addEventListener("click", (event) => event.target.closest(".node") ?? onSelect(null));
  }

  show(definition) {
    this.definition = definition;
    this.layout = layout(definition);
    const { svg, lines } = drawEdges(definition.edges, this.layout);
    this.lines = lines;
    this.nodes = new Map(definition.components.map((component) => [component.id, this.#node(component)]));
    this.canvas = make("div", { class: "canvas" }, svg, ...this.#ordered());
    this.sheet = make("div", { class: "sheet" }, this.canvas);
    this.host.replaceChildren(this.sheet);
    this.#ordered()[0]?.setAttribute("tabindex", "0");
    this.fit();
  }

  update(trace, record) {
    for (const { id } of this.definition.components) this.#paint(id, trace, record);
    for (const [edge, line] of this.lines) {
      line.classList.toggle("taken", edge.kind === "flow" && trace.took(edge));
    }
  }

  select(id) {
    for (const [each, { button }] of this.nodes) {
      button.setAttribute("aria-pressed", String(each === id));
      if (each === id) this.#stop(button);
    }
  }

  reveal(id) {
    // Into the middle of the view, unless it is in view.
    const box = this.layout.boxes.get(id);
    if (box === undefined) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.host;
    const [x, y, w, h] = [box.x, box.y, box.w, box.h].map((length) => length * this.scale);
    const isSeenAcross = x >= scrollLeft && x + w <= scrollLeft + clientWidth;
    const isSeenDown = y >= scrollTop && y + h <= scrollTop + clientHeight;
    if (!isSeenAcross || !isSeenDown) this.host.scrollTo(x + (w - clientWidth) / 2, y + (h - clientHeight) / 2);
  }

  fit() {
    const room = Math.min(this.host.clientWidth / this.layout.width, this.host.clientHeight / this.layout.height);
    this.zoom(Math.min(1, Math.max(READABLE, room)) / this.scale);
  }

  zoom(factor) {
    this.scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const { width, height } = this.layout;
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${this.scale})` });
    Object.assign(this.sheet.style, { width: `${width * this.scale}px`, height: `${height * this.scale}px` });
  }

  #ordered() {
    // As one reads: by column, then downward.
    const boxes = [...this.layout.boxes.values()].sort((a, b) => a.x - b.x || a.y - b.y);
    return boxes.map((box) => this.nodes.get(box.id).button);
  }

  #node(component) {
    const box = this.layout.boxes.get(component.id);
    const symbol = make("span", { class: "symbol" });
    const result = make("span", { class: "result" });
    const button = make(
      "button",
      {
        type: "button",
        class: component.isData ? "node data" : "node",
        tabindex: "-1",
        "data-id": component.id,
        click: () => this.onSelect(component.id),
      },
      make("span", { class: "row" }, field(component.title, "span", { class: "title" }), symbol),
      make("span", { class: "row" }, field(component.type || "no type", "span", { class: "type" }), result),
    );
    Object.assign(button.style, { left: `${box.x}px`, top: `${box.y}px`, width: `${box.w}px`, height: `${box.h}px` });
    return { component, button, symbol, result };
  }

  #paint(id, trace, record) {
    const { component, button, symbol, result } = this.nodes.get(id);
    const state = component.isData ? "data" : trace.state(id, record);
    const runs = trace.components.get(id)?.runs ?? [];
    const text = resultOf(runs);
    const label = [component.title, component.type, state, text].filter(Boolean).join(", ");
    if (button.getAttribute("aria-label") === label) return;
    button.setAttribute("aria-label", label);
    const isHere = state === "running" || state === "paused";
    if (this.isFollowing && isHere && button.dataset.state !== state) this.reveal(id);
    button.dataset.state = state;
    symbol.textContent = SYMBOLS[state] ?? "";
    result.replaceChildren(field(text));
  }

  #stop(button) {
    // The one place in the graph where the tab key stops.
    for (const other of this.nodes.values()) other.button.setAttribute("tabindex", "-1");
    button.setAttribute("tabindex", "0");
  }

  #key(event) {
    if (event.key === "Escape") this.onSelect(null);
    const way = ARROWS[event.key];
    const from = document.activeElement?.closest(".node");
    if (way === undefined || !from) return;
    event.preventDefault();
    const next = this.#nearest(from.dataset.id, way);
    if (next === null) return;
    this.#stop(next);
    next.focus();
  }

  #nearest(id, [dx, dy]) {
    const here = center(this.layout.boxes.get(id));
    let [best, least] = [null, Infinity];
    for (const box of this.layout.boxes.values()) {
      const there = center(box);
      const ahead = (there.x - here.x) * dx + (there.y - here.y) * dy;
      const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
      if (box.id !== id && ahead > 4 && ahead + 2 * aside < least) [best, least] = [box.id, ahead + 2 * aside];
    }
    return best === null ? null : this.nodes.get(best).button;
  }
}

const center = (box) => ({ x: box.x + box.w / 2, y: box.y + box.h / 2 });

function resultOf(runs) {
  const ended = runs.filter((run) => run.exited !== null);
  const last = ended.at(-1);
  if (last === undefined) return "";
  if (last.isTerminal) return "ended the run";
  const how = last.route ?? "";
  if (ended.length > 1) return `${ended.length}× · ${how}`;
  return last.durationMs === null ? how : `${how} · ${duration(Number(last.durationMs))}`;
}
