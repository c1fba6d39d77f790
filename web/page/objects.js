// The list of objects beside the picture.
import { element, setText } from "./dom.js";
import { colour } from "./palette.js";
import { clock, count, percent, unknown } from "./format.js";

const words = { visible: "Visible", occluded: "Occluded", lost: "Lost", unknown: "Unknown" };

export class ObjectList {
  #rows = new Map(); // object number → its elements

  constructor({ list, empty, total, announce }) {
    this.list = list;
    this.empty = empty;
    this.total = total;
    this.announce = announce;
  }

  // show brings the list up to date with a frame (null: none yet), which is the
  // present only when live.
  show(frame, live) {
    const objects = frame?.objects ?? [];
    const pixels = frame ? frame.mask.width * frame.mask.height : 0;
    const ids = new Set(objects.map((o) => o.id));
    for (const [id, row] of this.#rows) {
      if (!ids.has(id)) {
        row.item.remove();
        this.#rows.delete(id);
      }
    }
    for (const object of objects) this.#update(object, pixels);
    this.empty.hidden = objects.length > 0;
    this.empty.textContent = frame ? "No object is marked on this camera yet." : "Nothing to show yet.";
    this.list.dataset.live = String(live);
    setText(this.total, summary(frame, live));
  }

  #update(object, pixels) {
    let row = this.#rows.get(object.id);
    if (!row) {
      row = makeRow(object);
      this.#rows.set(object.id, row);
      this.list.append(row.item);
    }
    if (row.item.dataset.state !== object.state) {
      if (row.item.dataset.state) this.announce(`${object.label}: ${words[object.state] ?? object.state}`);
      row.item.dataset.state = object.state;
    }
    setText(row.label, object.label);
    setText(row.state, words[object.state] ?? object.state);
    setText(row.area, `${count(object.area)} px`);
    setText(row.share, percent(object.area, pixels));
    setText(row.score, Number.isFinite(object.score) ? object.score.toFixed(2) : unknown);
    row.meter.style.inlineSize = `${100 * Math.max(0, Math.min(1, object.score || 0))}%`;
  }
}

function summary(frame, live) {
  if (!frame) return "";
  if (!live) return `as of ${clock(new Date(frame.mask.captureTime))}`;
  return `${frame.objects.filter((o) => o.state === "visible").length} of ${frame.objects.length} visible`;
}

function makeRow(object) {
  const item = element("li", "object");
  item.style.setProperty("--colour", colour(object.id));
  const row = {
    item,
    label: element("span", "object-label"), state: element("span", "object-state"),
    area: element("span", "number"), share: element("span", "number muted"),
    score: element("span", "number"), meter: element("span", "meter-bar"),
  };
  const head = element("div", "object-head");
  head.append(element("span", "swatch"), row.label, row.state);
  const area = element("div", "object-figure");
  area.append(element("span", "muted", "Area"), row.area, row.share);
  const meter = element("span", "meter");
  meter.append(row.meter);
  const score = element("div", "object-figure");
  score.append(element("span", "muted", "Score"), row.score, meter);
  item.append(head, area, score);
  return row;
}
