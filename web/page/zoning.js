// Drawing zones and lines on the live picture, corner by corner, and having segd watch them.
import * as api from "./api.js";
import { drawDraft } from "./drawzones.js";
import { Pointer } from "./pointer.js";

const least = { zone: 3, line: 2 }; // points
const listOf = { zone: "zones", line: "lines" };

export class Zoning {
  active = false;
  draft = null; // { kind, points (fractions of the picture), toward, done }
  name = "";
  fault = null; // the Problem of the last try to save it
  sending = false;
  #feed = null;
  #before = {}; // what of the draft the last press may have changed
  #stage;
  #toast;
  #changed;
  #drawn = 0;

  // changed() is called whenever the controls have to be brought up to date.
  constructor({ stage, toast, changed }) {
    this.#stage = stage;
    this.#toast = toast;
    this.#changed = changed;
    this.pointer = new Pointer(stage.canvas, stage.view, {
      picture: () => (this.active ? this.#size() : null),
      drawing: () => false, // clicks set corners, and nothing is dragged
      down: (p, near) => this.#down(p, near),
      move: (p) => { this.draft.toward = this.#share(p); },
      up: () => {},
      cancel: () => Object.assign(this.draft, this.#before), // of two fingers the first set a corner
      changed: () => this.#redraw(),
    });
  }

  get camera() { return this.#feed?.camera; }
  get canClose() { return this.active && this.draft.kind === "zone" && !this.draft.done && this.draft.points.length >= least.zone; }
  get canSave() { return this.active && !this.sending && (this.draft.done || this.canClose); }

  // start begins a zone or a line on the camera that is seen.
  start(kind) {
    const feed = this.#stage.feed;
    if (this.active || !feed?.frame) return;
    this.#toast.hide();
    this.#feed = feed;
    this.active = true;
    this.sending = false;
    this.fault = null;
    this.draft = { kind, points: [], toward: null, done: false };
    this.name = freeName(kind, feed.layout[listOf[kind]]);
    this.#stage.drawOn(this);
    this.#changed();
  }

  // leave ends drawing, whatever was drawn.
  leave() {
    if (!this.active) return;
    this.pointer.forget();
    this.active = false;
    this.draft = null;
    this.#stage.drawOn(null);
    this.#changed();
  }

  setName(text) {
    this.name = text.trim();
  }

  close() {
    this.draft.done = true;
    this.#edited();
  }

  // back takes the last step away: that it is closed, or else a corner.
  back() {
    const { draft } = this;
    if (this.sending) return;
    if (!draft.done || draft.kind === "line") draft.points.pop();
    draft.done = false;
    this.#edited();
  }

  // turn exchanges a line's points, and so its sides.
  turn() {
    this.draft.points.reverse();
    this.#edited();
  }

  ink(ctx, place, ratio) {
    drawDraft(ctx, { draft: this.draft, refused: this.fault !== null, cross: this.pointer.cross, size: this.#size() }, place, ratio);
  }

  // save has segd watch what was drawn.
  async save() {
    if (!this.canSave) return;
    this.draft.done = true;
    this.sending = true;
    this.fault = null;
    this.#redraw();
    const { draft, name } = this;
    const { kind, points } = draft;
    const feed = this.#feed;
    try {
      await this.#add(feed, kind, kind === "zone" ? { name, polygon: points } : { name, points });
      this.#toast.show(`${name} is watched from now on. For the configuration see below the list.`, {
        undo: async () => {
          await this.#drop(feed, kind, name);
          return `${name} is removed.`;
        },
      });
      if (this.draft === draft) this.leave();
    } catch (problem) {
      if (this.draft !== draft) return this.#toast.show(`${name} is not watched: ${problem.message}`, { fault: true });
      this.sending = false;
      this.fault = problem;
      this.#redraw();
    }
  }

  // remove takes a zone or a line of the camera that is seen away, which can be undone.
  async remove(kind, name) {
    const { feed } = this.#stage;
    try {
      const gone = await this.#drop(feed, kind, name);
      this.#toast.show(`${name} is removed, and its counts.`, {
        undo: gone && (async () => {
          await this.#add(feed, kind, gone);
          return `${name} is back, and counts from 0.`;
        }),
      });
    } catch (problem) {
      this.#toast.show(`${name} could not be removed: ${problem.message}`, { fault: true });
    }
  }

  async #add(feed, kind, shape) {
    const layout = await current(feed.camera);
    layout[listOf[kind]].push(shape);
    feed.layout = await api.setZones(feed.camera, layout);
  }

  // #drop returns what it has taken away; nothing if somebody else has already.
  async #drop(feed, kind, name) {
    const layout = await current(feed.camera);
    const list = layout[listOf[kind]];
    const gone = list.find((z) => z.name === name);
    layout[listOf[kind]] = list.filter((z) => z !== gone);
    feed.layout = await api.setZones(feed.camera, layout);
    return gone ?? null;
  }

  #size() {
    return this.#feed.frame.mask;
  }

  // #share is a place as it is sent: to a tenth of a pixel, as the pointer has it, at most.
  #share([x, y]) {
    const { width, height } = this.#size();
    const round = (v) => Math.round(v * 1e4) / 1e4;
    return [round(x / width), round(y / height)];
  }

  #down(p, near) {
    const { draft } = this;
    this.#before = { points: [...draft.points], done: draft.done };
    if (draft.done || this.sending) return;
    const { width, height } = this.#size();
    const share = this.#share(p);
    const away = ([x, y]) => Math.hypot(p[0] - x * width, p[1] - y * height);
    if (this.canClose && away(draft.points[0]) <= near) return this.close();
    if (draft.points.some((q) => q[0] === share[0] && q[1] === share[1])) return; // a double click
    draft.points.push(share);
    draft.done = draft.kind === "line" && draft.points.length === least.line;
    this.#edited();
  }

  #edited() {
    this.fault = null;
    this.#redraw();
  }

  #redraw() {
    this.#changed();
    cancelAnimationFrame(this.#drawn);
    this.#drawn = requestAnimationFrame(() => this.#stage.paint());
  }
}

// current is the layout as of now: somebody else may have changed it.
async function current(camera) {
  const { zones, lines } = await api.camera(camera);
  return { zones, lines };
}

function freeName(kind, taken) {
  for (let n = 1; ; n++) if (!taken.some((z) => z.name === `${kind}-${n}`)) return `${kind}-${n}`;
}
