// What segd finds in a frozen picture: the outline of each thing, which a click marks.
import { toObjects } from "./message.js";
import { toPath } from "./outline.js";

const slack = 0.5; // of what counts as the same place: so far beside an outline a pointer is on it

export class Things {
  #list;
  #ctx = new OffscreenCanvas(1, 1).getContext("2d");

  // answer is that to api.things.
  constructor(answer) {
    this.#list = toObjects(answer).map(({ kind, area, counts, loops }, i) => ({
      kind, area, counts, loops, box: answer.objects[i].box, path: toPath(loops),
    })).sort((a, b) => a.area - b.area);
  }

  get any() { return this.#list.length > 0; }

  // at returns the smallest thing at a point of the picture, or else beside it; null if there is none. near is how many pixels of
  // the picture count as the same place.
  at([x, y], near) {
    this.#ctx.lineWidth = 2 * slack * near;
    return this.#list.find((t) => this.#ctx.isPointInPath(t.path, x, y, "evenodd")) ??
      this.#list.find((t) => this.#ctx.isPointInStroke(t.path, x, y)) ?? null;
  }
}

// toMark is the box round a thing, as a mark of an object.
export function toMark({ box: { x, y, width, height } }, id) {
  return { kind: "box", id, points: [[x, y], [x + width, y + height]] };
}
