// The list of what happened last at the camera that is shown, with pictures of the objects.
import * as api from "./api.js";
import { element, setText } from "./dom.js";
import { nameOf } from "./message.js";
import { clock } from "./format.js";
import { root } from "./root.js";

const most = 30; // events of a camera
const clipBefore = 5000; // ms of a clip
const clipAfter = 10000;
export const words = {
  CAMERA_UP: "Camera up", CAMERA_DOWN: "Camera down", CAMERA_MOVED: "Camera moved",
  OBJECT_APPEARED: "Appeared", OBJECT_OCCLUDED: "Occluded", OBJECT_LOST: "Lost", OBJECT_BACK: "Back", OBJECT_REMOVED: "Removed",
  OBJECT_RENAMED: "Renamed", OBJECT_NOT_FOLLOWED: "Not followed", OBJECT_ENTERED: "Entered", OBJECT_LEFT: "Left", OBJECT_STAYED: "Stayed",
  LINE_CROSSED: "Crossed", RULE: "Rule", ANNOTATION_ACCEPTED: "Annotation accepted", ANNOTATION_REJECTED: "Annotation rejected", CHECKPOINT_REFUSED: "Checkpoint refused",
};

export class EventList {
  #rows = new WeakMap(); // feed → its rows, the newest first

  #filled = new WeakSet(); // of feeds: what is kept was asked for

  constructor({ list, empty, total, history }) {
    Object.assign(this, { list, empty, total, history });
  }

  add(feed, event) {
    const rows = [keyed(event), ...(this.#rows.get(feed) ?? [])].slice(0, most);
    this.#rows.set(feed, rows);
  }

  // #fill puts what is kept below what the page has heard.
  async #fill(feed) {
    this.#filled.add(feed);
    const { events } = await api.history({ camera: feed.camera, limit: most }).catch(() => ({ events: [] })); // a server may keep none
    const heard = this.#rows.get(feed) ?? [];
    const keys = new Set(heard.map((r) => r.dataset.key));
    this.#rows.set(feed, [...heard, ...events.map(keyed).filter((r) => !keys.has(r.dataset.key))].slice(0, most));
  }

  show(feed) {
    if (!this.#filled.has(feed)) this.#fill(feed);
    const link = historyOf(feed.camera).href;
    if (this.history.href !== link) this.history.href = link;
    const rows = this.#rows.get(feed) ?? [];
    if (this.list.firstChild !== (rows[0] ?? null) || this.list.children.length !== rows.length) this.list.replaceChildren(...rows);
    this.empty.hidden = rows.length > 0;
    setText(this.total, rows.length > 0 ? String(rows.length) : "");
  }
}

// keyed is the row of an event, and tells it from others.
function keyed(event) {
  const item = row(event);
  item.dataset.key = [event.time, event.kind, event.objectId, event.zone, event.line, event.rule].join(" ");
  return item;
}

// row shows an event; everywhere: among those of all cameras; clips: with what was recorded then.
export function row({ camera, kind, time, captureTime, objectId, objectLabel, objectClass, zone, line, message, thumbnail }, { everywhere = false, clips = false } = {}) {
  const item = element("li", "event");
  const what = words[kind.replace(/^EVENT_KIND_/, "")] ?? kind;
  const who = objectId ? nameOf({ id: objectId, label: objectLabel || `Object ${objectId}` }) : "";
  if (everywhere && !thumbnail) item.append(element("div", "no-picture"));
  if (thumbnail) {
    const picture = element("img", "event-picture");
    picture.loading = "lazy";
    picture.alt = "";
    picture.src = root(thumbnail.slice(1));
    const link = element("a", "event-link");
    picture.addEventListener("error", () => (everywhere ? link.replaceWith(element("div", "no-picture")) : link.remove())); // segd keeps it no longer
    link.href = picture.src;
    link.target = "_blank";
    link.setAttribute("aria-label", `Picture of ${who}`);
    link.append(picture);
    item.append(link);
  }
  const text = element("div", "event-text");
  text.append(element("span", "event-what", who ? `${who}: ${what}` : what), element("span", "muted", message));
  const at = element("time", "number muted", clock(new Date(time)));
  at.dateTime = time;
  if (everywhere) {
    const where = [zone || line, objectClass !== objectLabel && objectClass].filter((word) => word && !message.includes(word));
    if (where.length > 0) text.append(element("span", "muted", where.join(", ")));
    text.append(element("span", "event-camera", camera), at);
    if (clips) {
      const link = element("a", "clip", "Clip");
      link.href = clipOf(camera, captureTime || time);
      link.title = "What was recorded before and after";
      text.append(link);
    }
  } else {
    const link = element("a", "event-time");
    link.href = historyOf(camera, time);
    link.title = "Show it in the history";
    link.append(at);
    text.append(link);
  }
  item.append(text);
  return item;
}

// clipOf is the page of what was recorded of a camera before and after a time.
function clipOf(camera, time) {
  const near = (ms) => new Date(Date.parse(time) + ms).toISOString();
  return root(`recordings?${new URLSearchParams({ camera, from: near(-clipBefore), to: near(clipAfter) })}`);
}

// historyOf is the page of what is kept of a camera; time is of its newest event there, if given.
export function historyOf(camera, time) {
  const to = time ? { to: new Date(Date.parse(time) + 1000).toISOString() } : {};
  return root(`history?${new URLSearchParams({ camera, ...to })}`);
}
