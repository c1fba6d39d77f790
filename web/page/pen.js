// What a pointer's way means with the chosen tool. A draft becomes a mark of the
// sketch when it is finished.
import { extend } from "./sketch.js";

const leastBox = 2; // pixels a side: a slip of the finger is not a box

export class Pen {
  tool = "object";
  width = 0; // brush, in pixels of the picture
  draft = null;
  #begin;
  #finish;

  // begin() returns { id, base } for a new draft; finish(mark) takes a finished one.
  constructor({ begin, finish }) {
    this.#begin = begin;
    this.#finish = finish;
  }

  get drawing() { return this.draft !== null; }
  get canClose() { return this.draft?.kind === "polygon" && this.draft.points.length >= 3; }

  choose(tool) {
    this.cancel();
    this.tool = tool;
  }

  // down begins a draft of a kind at p, or adds a corner to a polygon. near is how many
  // pixels of the picture count as the same place.
  down(p, near, kind) {
    if (this.draft?.kind === "polygon") {
      const [x, y] = this.draft.points[0];
      if (this.canClose && Math.hypot(p[0] - x, p[1] - y) <= near) this.close();
      else this.draft.points.push(p);
      return;
    }
    this.draft = { kind, points: [p], width: this.width, ...this.#begin(kind) };
  }

  // move goes on to p; hovering is without a button held.
  move(p, hovering) {
    if (!this.draft) return;
    if (this.draft.kind === "polygon") this.draft.toward = p;
    else if (hovering) return;
    else if (this.draft.kind === "box") this.draft.points[1] = p;
    else extend(this.draft.points, p);
  }

  up() {
    if (!this.draft || this.draft.kind === "polygon") return;
    const { kind, points: [a, b] } = this.draft;
    if (kind === "box" && !(b && Math.abs(a[0] - b[0]) >= leastBox && Math.abs(a[1] - b[1]) >= leastBox)) this.cancel();
    else this.#done();
  }

  // close ends a polygon.
  close() {
    if (this.canClose) this.#done();
  }

  // back takes a polygon's last corner away, and tells whether there was a draft.
  back() {
    if (!this.draft) return false;
    this.draft.points.pop();
    if (this.draft.kind !== "polygon" || this.draft.points.length === 0) this.draft = null;
    return true;
  }

  cancel() {
    this.draft = null;
  }

  #done() {
    const { toward, ...mark } = this.draft;
    this.draft = null;
    this.#finish(mark);
  }
}
