// The lines of the graph, as SVG paths between boxes.

import { draw } from "./dom.js";
import { BACK_H } from "./layout.js";

export function drawEdges(edges, { boxes, bends, back, width, height }) {
  // {svg, lines: edge -> element}; flow edges lie over the lighter data edges.
  const svg = draw("svg", { class: "edges", width, height, "aria-hidden": "true" });
  const lines = new Map();
  const ports = portsOf(edges, boxes);
  for (const edge of [...edges].sort((a, b) => (a.kind === "flow") - (b.kind === "flow"))) {
    const [source, target] = [boxes.get(edge.source), boxes.get(edge.target)];
    const below = lowest(boxes, target.x, source.x + source.w) + (back.indexOf(edge) + 1.2) * BACK_H;
    const line = lineOf(edge, source, target, bends.get(edge) ?? [], ports.get(edge), below);
    lines.set(edge, line);
    svg.append(line);
  }
  return { svg, lines };
}

function portsOf(edges, boxes) {
  // Where each edge leaves and arrives: spread over the side of the box, in the order of the other ends. Data keeps to
  // the lower part of a component of the flow, whose own line then is straight.
  const ports = new Map(edges.map((edge) => [edge, {}]));
  for (const [here, there, place] of [["source", "target", "leaves"], ["target", "source", "arrives"]]) {
    for (const box of boxes.values()) {
      const mine = edges.filter((edge) => edge[here] === box.id);
      mine.sort((a, b) => boxes.get(a[there]).y - boxes.get(b[there]).y);
      const spread = (some, from) =>
        some.forEach((edge, i) => {
          ports.get(edge)[place] = box.y + box.h * (from + ((1 - from) * (i + 1)) / (some.length + 1));
        });
      spread(mine.filter((edge) => edge.kind === "flow"), 0);
      spread(mine.filter((edge) => edge.kind !== "flow"), box.isData ? 0 : 0.66);
    }
  }
  return ports;
}

function lowest(boxes, left, right) {
  // The bottom of what stands between two places.
  const between = [...boxes.values()].filter((box) => box.x <= right && box.x + box.w >= left);
  return Math.max(0, ...between.map((box) => box.y + box.h));
}

function lineOf(edge, source, target, bends, { leaves, arrives }, below) {
  const from = { x: source.x + source.w, y: leaves };
  const to = { x: target.x, y: arrives };
  const route =
    to.x > from.x
      ? forward([from, ...bends.flatMap((bend) => [bend, { x: bend.x + bend.w, y: bend.y }]), to])
      : (upOrDown(source, target) ?? around(from, to, below));
  const group = draw("g", { class: `edge ${edge.kind}` });
  group.append(draw("path", { d: route.path, class: "line" }), draw("path", { d: route.head, class: "head" }));
  if (edge.kind === "flow" && edge.route && edge.route !== "next") {
    group.append(draw("text", { x: route.label.x, y: route.label.y - 6, class: "route" }, shortened(edge.route)));
  }
  return group;
}

const middle = (box) => box.x + box.w / 2;
const shortened = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);

function forward(points) {
  const last = points.at(-1);
  const end = { x: last.x - 5, y: last.y };
  let path = `M${points[0].x},${points[0].y}`;
  points.slice(1).forEach((point, i) => {
    const [a, b] = [points[i], i === points.length - 2 ? end : point];
    const pull = Math.max(14, (b.x - a.x) / 2);
    path += a.y === b.y ? ` H${b.x}` : ` C${a.x + pull},${a.y} ${b.x - pull},${b.y} ${b.x},${b.y}`;
  });
  const [a, b] = points;
  return { path, head: pointing(last.x, last.y, 1, 0), label: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
}

function upOrDown(source, target) {
  // Between two that stand one above the other; null for others.
  const isDown = source.y + source.h < target.y;
  if (Math.abs(middle(source) - middle(target)) > 60 || !(isDown || target.y + target.h < source.y)) return null;
  const from = { x: middle(source), y: isDown ? source.y + source.h : source.y };
  const to = { x: middle(target), y: isDown ? target.y : target.y + target.h };
  const way = isDown ? 1 : -1;
  const pull = way * Math.max(10, Math.abs(to.y - from.y) / 2);
  const end = to.y - 5 * way;
  const path = `M${from.x},${from.y} C${from.x},${from.y + pull} ${to.x},${end - pull} ${to.x},${end}`;
  return { path, head: pointing(to.x, to.y, 0, way), label: { x: from.x, y: (from.y + to.y) / 2 } };
}

function around(from, to, below) {
  // Back to an earlier column: out, under all that stands between, and in again from the left.
  const [r, out] = [10, 20];
  const path =
    `M${from.x},${from.y} h${out - r} q${r},0 ${r},${r} V${below - r} q0,${r} ${-r},${r}` +
    ` H${to.x - out + r} q${-r},0 ${-r},${-r} V${to.y + r} q0,${-r} ${r},${-r} H${to.x - 5}`;
  return { path, head: pointing(to.x, to.y, 1, 0), label: { x: (from.x + to.x) / 2, y: below } };
}

function pointing(x, y, dx, dy) {
  return `M${x},${y} L${x - 8 * dx - 4 * dy},${y - 8 * dy - 4 * dx} L${x - 8 * dx + 4 * dy},${y - 8 * dy + 4 * dx} Z`;
}
