// The list of what happened at the camera that is shown, since the page was opened, with pictures of the objects.
import { element, setText } from "./dom.js";
import { nameOf } from "./message.js";
import { clock } from "./format.js";
import { root } from "./root.js";

const most = 30; // events of a camera
const words = {
  CAMERA_UP: "Camera up", CAMERA_DOWN: "Camera down", CAMERA_MOVED: "Camera moved",
  OBJECT_APPEARED: "Appeared", OBJECT_OCCLUDED: "Occluded", OBJECT_LOST: "Lost", OBJECT_BACK: "Back", OBJECT_REMOVED: "Removed",
  OBJECT_RENAMED: "Renamed", OBJECT_NOT_FOLLOWED: "Not followed", OBJECT_ENTERED: "Entered", OBJECT_LEFT: "Left", OBJECT_STAYED: "Stayed",
  LINE_CROSSED: "Crossed", RULE: "Rule", ANNOTATION_ACCEPTED: "Annotation accepted", ANNOTATION_REJECTED: "Annotation rejected", CHECKPOINT_REFUSED: "Checkpoint refused",
};

export class EventList {
  #rows = new WeakMap(); // feed → its rows, the newest first

  constructor({ list, empty, total }) {
    Object.assign(this, { list, empty, total });
  }

  add(feed, event) {
    const rows = [row(event), ...(this.#rows.get(feed) ?? [])].slice(0, most);
    this.#rows.set(feed, rows);
  }

  show(feed) {
    const rows = this.#rows.get(feed) ?? [];
    if (this.list.firstChild !== (rows[0] ?? null)) this.list.replaceChildren(...rows);
    this.empty.hidden = rows.length > 0;
    setText(this.total, rows.length > 0 ? String(rows.length) : "");
  }
}

function row({ kind, time, objectId, objectLabel, message, thumbnail }) {
  const item = element("li", "event");
  if (thumbnail) {
    const picture = element("img", "event-picture");
    picture.loading = "lazy";
    picture.alt = "";
    picture.src = root(thumbnail.slice(1));
    picture.addEventListener("error", () => picture.remove()); // segd keeps it no longer
    const link = element("a", "event-link");
    link.href = picture.src;
    link.target = "_blank";
    link.append(picture);
    item.append(link);
  }
  const text = element("div", "event-text");
  const what = words[kind.replace(/^EVENT_KIND_/, "")] ?? kind;
  const who = objectId ? nameOf({ id: objectId, label: objectLabel || `Object ${objectId}` }) : "";
  text.append(element("span", "event-what", who ? `${who}: ${what}` : what), element("span", "muted", message), element("time", "number muted", clock(new Date(time))));
  item.append(text);
  return item;
}
