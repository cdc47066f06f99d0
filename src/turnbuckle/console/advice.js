// What the page says when something is in the way, and what to do then: {title, texts}.

export function adviceFor(trouble, hasKey) {
  if (trouble.kind === "key") return hasKey ? WRONG_KEY : NO_ANONYMOUS;
  if (trouble.kind === "denied") return hasKey ? UNKNOWN_RUN : PRIVATE_RUN;
  return { title: "The server refused", texts: [trouble.message] };
}

export const USE_A_KEY = {
  title: "Use a key",
  texts: ["With a key of role write you can stop, continue and fork runs."],
};
export const KEPT =
  "The key stays in this tab until you close it. It is sent to this server only, and never stands in the address.";
export const UNDRAWN =
  "The definition itself is out of this key's reach: these are the components that ran, without connections.";

export function away(trouble, again) {
  const ask = "If this goes on: does the server run, and is this its address?";
  return { title: "The server is away", texts: [trouble.message, again, ask] };
}

export function readOnly(hasKey) {
  if (!hasKey) return "This needs a key: choose “Use a key”.";
  return "Your key may read this run, but not change it: use one of role write.";
}

const WRONG_KEY = {
  title: "The key was not accepted",
  texts: [
    "It is unknown on this server, revoked, or not complete.",
    "“turnbuckle keys list” shows the keys there are, “turnbuckle hub keys” makes one for a blob.",
  ],
};
const NO_ANONYMOUS = {
  title: "A key is needed",
  texts: ["This server lets nobody in without a key.", "Use a key that may read the run's blob."],
};
const UNKNOWN_RUN = {
  title: "This run is unknown here",
  texts: [
    "It does not exist, it was deleted with its session, or your key may not see it: the server does not say which.",
    "Compare the address with that of the run, or use another key.",
  ],
};
const PRIVATE_RUN = {
  title: "A key is needed",
  texts: ["This run is not public, or it does not exist.", "Use a key that may read its blob."],
};
