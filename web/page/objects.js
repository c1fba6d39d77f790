// The list of objects beside the picture: what became of each, and what can be
// done with it.
import { element, setText } from "./dom.js";
import { nameOf } from "./message.js";
import { clock, count, percent, unknown } from "./format.js";
import { describe, drawTimeline } from "./timeline.js";

const words = { visible: "Visible", occluded: "Occluded", lost: "Lost", unknown: "Unknown" };
const longestName = 64;

export class ObjectList {
  readOnly = false; // who looks may change nothing
  #rows = new Map(); // object number → its elements

  // act has keep(id), correct(id), rename(id, from, to), remove(id) and point(id), when the pointer is on one, or with 0
  // on none.
  constructor({ list, empty, total, announce, act }) {
    Object.assign(this, { list, empty, total, announce, act });
  }

  // show brings the list up to date with a feed's newest frame, which is the present
  // only when live.
  show(feed, live) {
    const frame = feed.frame;
    const objects = frame?.objects ?? [];
    const ids = new Set(objects.map((o) => o.id));
    for (const [id, row] of this.#rows) {
      if (!ids.has(id)) {
        row.item.remove();
        this.#rows.delete(id);
      }
    }
    const now = performance.now();
    for (const object of objects) this.#update(object, feed, now);
    this.empty.hidden = objects.length > 0;
    const how = this.readOnly ? "" : " Freeze the picture and draw a few strokes on one.";
    this.empty.textContent = frame ? `No object is marked on this camera yet.${how}` : "Nothing to show yet.";
    this.list.dataset.live = String(live);
    setText(this.total, summary(frame, live));
  }

  // point marks the row of the object that stands out in the picture, and brings it into sight if seen is to be.
  point(id, seen = false) {
    for (const [other, { item }] of this.#rows) item.toggleAttribute("data-pointed", other === id);
    if (seen) this.#rows.get(id)?.item.scrollIntoView({ block: "nearest" });
  }

  #update(object, feed, now) {
    const pixels = feed.frame.mask.width * feed.frame.mask.height;
    const pieces = feed.timelines.of(object.id);
    let row = this.#rows.get(object.id);
    if (!row) {
      row = this.#makeRow(object.id);
      this.#rows.set(object.id, row);
      const after = [...this.#rows.keys()].filter((id) => id > object.id).sort((a, b) => a - b)[0];
      this.list.insertBefore(row.item, this.#rows.get(after)?.item ?? null);
    }
    if (row.item.dataset.state !== object.state) {
      if (row.item.dataset.state) this.announce(`${nameOf(object)}: ${words[object.state] ?? object.state}`);
      row.item.dataset.state = object.state;
    }
    row.item.style.setProperty("--colour", feed.colours.of(object.id));
    row.name = object.label;
    setText(row.label, object.label);
    setText(row.state, words[object.state] ?? object.state);
    const where = object.extent && object.area === 0 ? "The dashed box in the picture is where its track predicts it" : "";
    if (row.state.title !== where) row.state.title = where;
    setText(row.origin, origin(object));
    row.item.dataset.automatic = String(object.automatic);
    row.keep.hidden = !object.automatic;
    setText(row.area, object.area > 0 ? `${count(object.area)} px` : unknown);
    setText(row.share, object.area > 0 ? percent(object.area, pixels) : "");
    setText(row.score, object.state === "visible" && Number.isFinite(object.score) ? `score ${object.score.toFixed(2)}` : "");
    drawTimeline(row.timeline, pieces, now);
    const said = describe(pieces, now);
    if (row.timeline.title !== said) {
      row.timeline.title = said;
      row.timeline.setAttribute("aria-label", said);
    }
  }

  #makeRow(id) {
    const item = element("li", "object");
    item.dataset.id = String(id);
    for (const [kind, pointed] of [["pointerenter", id], ["pointerleave", 0], ["focusin", id], ["focusout", 0]]) {
      item.addEventListener(kind, () => this.act.point(pointed));
    }
    const row = {
      item, name: "",
      label: element("span", "object-label"), state: element("span", "object-state"),
      origin: element("p", "object-origin"), keep: button("keep-object", "Keep", () => this.act.keep(id)),
      area: element("span", "number"), share: element("span", "number muted"),
      score: element("span", "number muted"), timeline: element("canvas", "timeline"),
    };
    row.keep.title = "It is followed on even if it is not detected any more";
    row.timeline.setAttribute("role", "img");
    const head = element("div", "object-head");
    head.append(element("span", "swatch"), row.label, row.state);
    const figures = element("div", "object-figures");
    figures.append(row.area, row.share, row.score);
    const actions = element("div", "object-actions");
    actions.append(
      row.keep,
      button("correct", "Correct", () => this.act.correct(id)),
      button("rename", "Rename", () => this.#rename(row, id, head, actions)),
      button("remove", "Remove", () => this.act.remove(id)),
    );
    item.append(head, row.origin, figures, row.timeline, actions);
    return row;
  }

  // #rename puts a field in place of the name.
  #rename(row, id, head, actions) {
    const form = element("form", "rename-form");
    const input = element("input", "");
    Object.assign(input, { type: "text", value: row.name, maxLength: longestName, required: true });
    input.setAttribute("aria-label", `New name of ${row.name}`);
    const done = () => {
      form.remove();
      head.hidden = actions.hidden = false;
      actions.querySelector(".rename").focus();
    };
    form.append(input, button("save", "Save", () => {}), button("quiet", "Cancel", done));
    form.querySelector(".save").type = "submit";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const from = row.name;
      const to = input.value.trim();
      done();
      if (to && to !== from) this.act.rename(id, from, to);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done();
      event.stopPropagation();
    });
    head.hidden = actions.hidden = true;
    row.item.prepend(form);
    input.select();
  }
}

// origin says who marked an object, and its number, for names of those that segd marks are alike.
function origin({ id, kind, automatic }) {
  if (automatic) return `No. ${id} · ${kind}, marked automatically`;
  return kind ? `No. ${id} · ${kind}, kept` : `No. ${id} · marked by hand`;
}

function button(name, text, press) {
  const b = element("button", `small ${name}`, text);
  b.type = "button";
  b.addEventListener("click", press);
  return b;
}

function summary(frame, live) {
  if (!frame || frame.objects.length === 0) return "";
  if (!live) return `as of ${clock(new Date(frame.mask.captureTime))}`;
  return `${frame.objects.filter((o) => o.state === "visible").length} of ${frame.objects.length} visible`;
}
