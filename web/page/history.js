// The page of kept events. What is chosen is in its address, so that a reload shows the same.
import * as api from "./api.js";
import { element, setText } from "./dom.js";
import { row, words } from "./events.js";
import { fieldTime } from "./format.js";
import { root } from "./root.js";

const pageSize = 48; // events that are asked for at once
const mostAsked = 20; // requests in a row that find too few, each of which looks at thousands
const fields = ["camera", "kind", "class", "zone", "object", "from", "to"];

const byId = (id) => document.getElementById(id);
const form = byId("filter");
const list = byId("event-list");
const more = byId("more");

let chosen = {}; // as the API takes it
let next = null; // the before of the next request; null: there is none
let clips = false; // whether there may be recordings
let asking = null; // an AbortController while something is asked for

// fill writes what the page's address chooses into the form.
function fill() {
  const query = new URLSearchParams(location.search);
  for (const name of fields) {
    const field = form.elements[name];
    const value = query.get(name) ?? "";
    if (field.tagName === "SELECT" && ![...field.options].some((o) => o.value === value)) field.append(new Option(value, value)); // of a camera that is gone
    field.value = field.type === "datetime-local" ? fieldTime(value) : value;
  }
}

// choose reads the form.
function choose() {
  chosen = {};
  for (const name of fields) {
    const field = form.elements[name];
    const value = field.value.trim();
    if (value) chosen[name] = field.type === "datetime-local" ? new Date(value).toISOString() : value;
  }
  byId("export").href = root(`api/v1/history/export?${new URLSearchParams(chosen)}`);
}

// show begins anew with what is chosen.
async function show() {
  choose();
  list.replaceChildren();
  next = "";
  await older();
}

// older adds events before those that are there.
async function older() {
  asking?.abort();
  const own = (asking = new AbortController());
  const enough = list.children.length + pageSize;
  more.hidden = true;
  byId("fault").hidden = true;
  for (const field of form.elements) field.removeAttribute("aria-invalid");
  setText(byId("status"), "Looking…");
  try {
    for (let n = 0; n < mostAsked && next !== null && list.children.length < enough; n++) {
      const answer = await api.history({ ...chosen, limit: enough - list.children.length, ...(next ? { before: next } : {}) }, own.signal);
      if (asking !== own) return;
      list.append(...answer.events.map((event) => row(event, { everywhere: true, clips })));
      next = answer.next ?? null;
    }
  } catch (problem) {
    if (own.signal.aborted) return;
    for (const { at } of problem.faults ?? []) form.elements[at]?.setAttribute("aria-invalid", "true");
    setText(byId("fault"), problem.message);
    byId("fault").hidden = false;
  }
  asking = null;
  more.hidden = next === null || !byId("fault").hidden;
  setText(byId("status"), found(list.children.length));
}

// found says how many there are.
function found(count) {
  if (!byId("fault").hidden) return "";
  if (count === 0) return next === null ? "None." : "None so far.";
  return next === null ? String(count) : `${count}, and older ones`;
}

// lists offers the cameras, zones and lines that there are.
async function lists() {
  const { cameras, records } = await api.cameras();
  clips = Boolean(records);
  byId("recordings").hidden = !clips;
  byId("filter-camera").append(...cameras.map(({ name }) => new Option(name, name)));
  const names = cameras.flatMap(({ zones = [], lines = [] }) => [...zones, ...lines].map((z) => z.name));
  byId("filter-zones").append(...[...new Set(names)].sort().map((name) => new Option(name, name)));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  choose();
  const query = new URLSearchParams(chosen).toString();
  history.pushState(null, "", query ? `?${query}` : location.pathname);
  show();
});
form.addEventListener("reset", () => setTimeout(() => form.requestSubmit())); // once its fields are empty
more.addEventListener("click", older);
window.addEventListener("popstate", () => {
  fill();
  show();
});

for (const [kind, text] of Object.entries(words)) byId("filter-kind").append(new Option(text, kind.toLowerCase()));
await lists().catch(() => {}); // what is wrong is told by what follows
fill();
show();
