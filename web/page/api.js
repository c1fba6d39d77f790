// What the page asks of segd: the same HTTP API that everyone has.

import { root } from "./root.js";

// Problem is an answer that says what was wrong (RFC 9457). faults holds
// { at, detail } for each field that is known to be wrong.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `segd answered ${status}`);
    this.status = status;
    this.noPicture = body.type === "no-picture"; // of a camera that could be added
    this.busy = status === 429 || (status === 409 && !body.errors); // trying again helps
    this.faults = (body.errors ?? []).map((e) => ({ at: e.field ?? e.pointer ?? "", detail: e.detail ?? "" }));
  }
}

const of = (camera, rest = "") => `cameras/${encodeURIComponent(camera)}${rest}`;

// ask returns what segd answers, by default read as JSON; heard, if given, is shown the headers.
async function ask(method, path, body, { heard, read = (response) => response.json(), ...options } = {}) {
  const json = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  let response;
  try {
    response = await fetch(root(`api/v1/${path}`), { method, ...json, ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, { detail: "segd does not answer. Is it running, and the network there?" });
  }
  if (response.status === 401) location.assign(root("login"));
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
  heard?.(response.headers);
  return response.status === 204 ? null : read(response);
}


// history lists kept events; query is what openapi.json has.
export const history = (query, signal) => ask("GET", `history?${new URLSearchParams(query)}`, undefined, { signal });

export const recordings = (camera, query, signal) => ask("GET", of(camera, `/recordings?${new URLSearchParams(query)}`), undefined, { signal });
export const recordedMasks = (camera, name, signal) => ask("GET", of(camera, `/recordings/${name}/masks`), undefined, { signal, read: (response) => response.text() });

export const alerts = () => ask("GET", "alerts");

// cameras lists them; box is the one that answers, empty where no boxes share them.
export async function cameras() {
  let box = "";
  const list = await ask("GET", "cameras", undefined, { heard: (headers) => (box = headers.get("Segd-Box") ?? "") });
  return { ...list, box };
}

export const camera = (camera) => ask("GET", of(camera));
export const addCamera = (settings) => ask("POST", "cameras", settings);
export const changeCamera = (camera, changes) => ask("PATCH", of(camera), changes);
export const removeCamera = (camera) => ask("DELETE", of(camera));
export const findCameras = (where, signal) => ask("POST", "cameras/discover", where, { signal });
export const testCamera = (settings, signal) => ask("POST", "cameras/test", settings, { signal });
export const setZones = (camera, layout) => ask("PUT", of(camera, "/zones"), layout);
export const objects = async (camera) => (await ask("GET", of(camera, "/objects"))).objects;
export const rename = (camera, id, label) => ask("PATCH", of(camera, `/objects/${id}`), { label });
export const keep = (camera, id) => ask("PATCH", of(camera, `/objects/${id}`), { kept: true });
export const remove = (camera, id) => ask("DELETE", of(camera, `/objects/${id}`));
export const annotate = (camera, annotation) => ask("POST", of(camera, "/annotations"), annotation);
export const judge = async (camera, truth) => (await ask("POST", of(camera, "/accuracy"), truth)).records;
export const preview = (camera, annotation, signal) =>
  ask("POST", of(camera, "/annotations?preview=true"), annotation, { signal });

export const things = (camera, sequence, signal) => ask("POST", of(camera, `/frames/${sequence}/things`), undefined, { signal });

export const fleet = () => ask("GET", "fleet");
export const orderBox = (box, order) => ask("POST", `fleet/boxes/${encodeURIComponent(box)}/${order}`);
export const moveCamera = (camera, box) => ask("POST", `fleet/cameras/${encodeURIComponent(camera)}/move`, { box });

// A page holds frames under a name of its own, so that none lets go what another
// still marks.
const holder = `page-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
const held = (camera, sequence) => of(camera, `/frames/${sequence}/holds/${holder}`);

// hold keeps a frame for marking until it is let go or its time is up; holding
// again gives it more time.
export const hold = (camera, sequence) => ask("PUT", held(camera, sequence));

// letGo may be the last thing a page does, and nobody waits for it.
export const letGo = (camera, sequence) =>
  ask("DELETE", held(camera, sequence), undefined, { keepalive: true }).catch(() => {});
