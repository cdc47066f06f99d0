// A workflow document as the page needs it, read liberally (blobhub 5.1): what is odd is left out, nothing fails.

const ENDS = { flow_output: "flow", flow_input: "flow", data_output: "data", data_input: "data" };

export function read(raw) {
  // {components: [{id, type, title, isData, position, ports}], edges: [{kind, source, target, route}]}
  const components = [];
  const known = new Set();
  for (const item of list(raw?.components)) {
    if (typeof item?.id !== "string" || known.has(item.id)) continue; // of two with one id, the first counts
    known.add(item.id);
    components.push(component(item));
  }
  const edges = list(raw?.connections)
    .filter((item) => known.has(item?.source_id) && known.has(item?.target_id))
    .map(edge);
  return { components, edges };
}

function component(item) {
  const type = text(item.type);
  const { x, y } = item.position ?? {};
  const position = Number.isFinite(plain(x)) && Number.isFinite(plain(y)) ? { x: plain(x), y: plain(y) } : null;
  const title = text(item.name) || item.id;
  return { id: item.id, type, title, isData: isData(type), position, ports: list(item.ports) };
}

function edge(item) {
  const ends = [ENDS[item.source_port], ENDS[item.target_port]].filter(Boolean);
  const isProvider = `${item.source_port} ${item.target_port}`.includes("provider_");
  const guess = item.source_route || item.target_route ? "data" : "flow";
  const kind = isProvider ? "provider" : (ends[0] ?? guess);
  return { kind, source: item.source_id, target: item.target_id, route: text(item.route) };
}

export function ofTrace(trace) {
  // When the document cannot be read: the components that the events name, without edges.
  const components = [...trace.components.values()].map(({ id, type, title }) => {
    return { id, type, title, isData: isData(type), position: null, ports: [] };
  });
  return { components, edges: [] };
}

export const isData = (type) => type.startsWith("data.") || type.startsWith("provider.");
const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (typeof value === "string" ? value : "");
const plain = (number) => Number(number?.text ?? number);
