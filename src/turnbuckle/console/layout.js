// Where the components stand, left to right: {boxes: id -> {x, y, w, h, isData}, bends: edge -> [{x, y, w}], back: the
// edges that lead to an earlier column, width, height}.

export const MARGIN = 20;
const FLOW = { w: 176, h: 58 };
const DATA = { w: 148, h: 44 };
const [GAP_X, GAP_Y] = [58, 22];
const BEND_H = 14; // the room of an edge that passes a column

export function layout({ components, edges }) {
  const found = settled(placed(components) ?? layered(components, edges));
  const back = edges.filter((edge) => goesBack(edge, found.boxes));
  return { ...found, back, height: found.height + back.length * BACK_H };
}

export const BACK_H = 12; // between two edges that lead back, under everything they pass
const goesBack = (edge, boxes) => boxes.get(edge.target).x <= boxes.get(edge.source).x + boxes.get(edge.source).w;

const sizeOf = (component) => (component.isData ? DATA : FLOW);

// -- by the positions of the document ------------------------------------------------------------------------------

const STRETCHES = [1, 1.2, 1.4, 1.6, 2, 3];
const SPREADS = STRETCHES.flatMap((across) => STRETCHES.map((down) => [across, down]));
SPREADS.sort((a, b) => a[0] * a[1] - b[0] * b[1]); // as little as will do

function placed(components) {
  // Spread until nothing overlaps; null when some have no position, or lie on one another.
  if (components.length === 0 || components.some((one) => one.position === null)) return null;
  for (const [across, down] of SPREADS) {
    const boxes = components.map(({ id, position, isData }) => {
      return { id, isData, x: position.x * across, y: position.y * down, ...sizeOf({ isData }) };
    });
    if (!overlap(boxes)) return { boxes: new Map(boxes.map((box) => [box.id, box])), bends: new Map() };
  }
  return null;
}

function overlap(boxes) {
  // With room beside each for an edge and its route, and a little below.
  const across = [...boxes].sort((a, b) => a.x - b.x);
  return across.some((a, i) => {
    for (let j = i + 1; j < across.length && across[j].x < a.x + a.w + 48; j++) {
      if (Math.abs(across[j].y - a.y) < Math.max(a.h, across[j].h) + 14) return true;
    }
    return false;
  });
}

// -- by layers -----------------------------------------------------------------------------------------------------

function layered(components, edges) {
  const forward = edges.filter((edge) => edge.kind === "flow" && edge.source !== edge.target);
  const { order, back } = walk(components, forward);
  const ahead = forward.filter((edge) => !back.has(edge));
  const layers = layersOf(components, order, ahead, edges);
  const { columns, bends } = columnsOf(components, layers, ahead);
  arrange(columns, linksOf(columns, bends, edges));
  return drawn(columns, bends);
}

function walk(components, edges) {
  // Depth first from the starts: an order in which every edge leads on, but those that lead back.
  const from = grouped(edges, (edge) => edge.source);
  const [order, back, state] = [[], new Set(), new Map()];
  const roots = [...components.filter((one) => one.type === "flow.start"), ...components].map((one) => one.id);
  const visit = (id) => {
    state.set(id, "open");
    for (const edge of from.get(id) ?? []) {
      if (state.get(edge.target) === "open") back.add(edge);
      else if (!state.has(edge.target)) visit(edge.target);
    }
    state.set(id, "done");
    order.unshift(id);
  };
  for (const id of roots) if (!state.has(id)) visit(id);
  return { order, back };
}

function layersOf(components, order, ahead, edges) {
  const layers = new Map(components.map((one) => [one.id, 0]));
  const from = grouped(ahead, (edge) => edge.source);
  for (const id of order) {
    for (const { target } of from.get(id) ?? []) layers.set(target, Math.max(layers.get(target), layers.get(id) + 1));
  }
  const others = edges.filter((edge) => edge.kind !== "flow");
  for (const one of components.filter((component) => component.isData)) {
    const takers = others.filter((edge) => edge.source === one.id).map((edge) => layers.get(edge.target));
    const givers = others.filter((edge) => edge.target === one.id).map((edge) => layers.get(edge.source));
    const before = Math.min(...takers) - 1;
    const after = Math.max(...givers) + 1;
    const isBefore = takers.length > 0 && (givers.length === 0 || before >= after);
    layers.set(one.id, Math.max(0, isBefore ? before : givers.length ? after : 0));
  }
  return layers;
}

function columnsOf(components, layers, ahead) {
  // With a bend in each column that an edge passes, so that it leads around what stands there.
  const columns = [];
  const put = (layer, item) => (columns[layer] ??= []).push(item);
  for (const one of components) put(layers.get(one.id), { id: one.id, isData: one.isData, ...sizeOf(one) });
  const bends = new Map();
  for (const edge of ahead) {
    const passed = [];
    for (let layer = layers.get(edge.source) + 1; layer < layers.get(edge.target); layer++) {
      passed.push({ isBend: true, isData: false, w: FLOW.w, h: BEND_H });
      put(layer, passed.at(-1));
    }
    bends.set(edge, passed);
  }
  return { columns: [...columns].map((column) => column ?? []), bends };
}

function linksOf(columns, bends, edges) {
  const items = new Map(columns.flat().map((item) => [item.id, item]));
  const links = new Map(columns.flat().map((item) => [item, []]));
  for (const edge of edges) {
    const chain = [items.get(edge.source), ...(bends.get(edge) ?? []), items.get(edge.target)];
    chain.slice(1).forEach((next, i) => {
      links.get(chain[i]).push(next);
      links.get(next).push(chain[i]);
    });
  }
  return links;
}

function arrange(columns, links) {
  columns.forEach((column) => stack(column, () => 0));
  for (let sweep = 0; sweep < 6; sweep++) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const wish = (item) => {
        // The flow keeps to the flow, so that a simple one is a straight line; data stands by what it is for.
        const near = links.get(item).filter((other) => !column.includes(other) && (item.isData || !other.isData));
        return near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : item.y;
      };
      const wishes = new Map(column.map((item) => [item, wish(item)]));
      column.sort((a, b) => a.isData - b.isData || wishes.get(a) - wishes.get(b));
      stack(column, (item) => wishes.get(item));
    }
  }
}

function stack(column, wish) {
  // As near to where each would like its middle as the order and the gaps allow.
  let bottom = -Infinity;
  for (const item of column) {
    item.y = Math.max(wish(item), bottom + GAP_Y + item.h / 2);
    bottom = item.y + item.h / 2;
  }
  const flow = column.filter((item) => !item.isData);
  const led = flow.length ? flow : column;
  const shift = led.reduce((sum, item) => sum + wish(item) - item.y, 0) / Math.max(1, led.length);
  for (const item of column) item.y += shift;
}

function drawn(columns, bends) {
  const boxes = new Map();
  columns.forEach((column, layer) => {
    for (const item of column) {
      item.x = layer * (FLOW.w + GAP_X) + (FLOW.w - item.w) / 2;
      if (!item.isBend) boxes.set(item.id, { ...item, y: item.y - item.h / 2 });
    }
  });
  return { boxes, bends };
}

function settled({ boxes, bends }) {
  // Moved so that the upper left corner is MARGIN, MARGIN.
  const all = [...boxes.values()];
  const lines = [...bends.values()].flat();
  const left = Math.min(...all.map((box) => box.x)) - MARGIN;
  const top = Math.min(...all.map((box) => box.y), ...lines.map((bend) => bend.y)) - MARGIN;
  for (const point of [...all, ...lines]) [point.x, point.y] = [point.x - left, point.y - top];
  const width = Math.max(0, ...all.map((box) => box.x + box.w)) + MARGIN;
  const height = Math.max(0, ...all.map((box) => box.y + box.h), ...lines.map((bend) => bend.y)) + MARGIN;
  return { boxes, bends, width, height };
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (groups.has(key)) groups.get(key).push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
