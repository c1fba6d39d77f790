// What objects truly cover in a frozen frame, as people draw it, to be compared with the masks of that frame.
//
// Its marks are those of a sketch that paint, erase or are a polygon, and { kind: "mask", id, base }: the object covers
// base (COCO counts) and no more; "" says that it is not there.
import { fill, fromCounts, paint } from "./bitmap.js";
import { toCounts } from "./rle.js";
import { Sketch } from "./sketch.js";

export const truthTools = ["polygon", "paint", "erase"];

export class Truth extends Sketch {
  #known;
  #made = new Map(); // object → { marks, bitmap, area }

  // known are the numbers of the objects that the frame has.
  constructor(frame, known) {
    super(frame);
    this.#known = new Set(known);
  }

  get says() { return this.marks.length > 0; }

  counting() { return []; } // its outlines are drawn alone

  // painted returns what an object covers, or null if nothing is said of it.
  painted(id) { return this.#make(id)?.bitmap ?? null; }

  area(id) { return this.#make(id)?.area ?? 0; }

  // annotation is what segd is told, or null.
  annotation() {
    if (!this.says) return null;
    return { frame: this.sequence, objects: this.marked().map((id) => this.#object(id)) };
  }

  #object(id) {
    const { bitmap, area } = this.#make(id);
    const counts = area > 0 ? toCounts(bitmap) : "";
    return this.#known.has(id) ? { id, counts } : { label: this.names.get(id) ?? "", counts };
  }

  #make(id) {
    const marks = this.marks.filter((m) => m.id === id);
    const old = this.#made.get(id);
    if (old?.marks.length === marks.length && marks.every((m, i) => m === old.marks[i])) return old;
    let bitmap = null;
    for (const m of marks) {
      if (m.kind === "mask") bitmap = fromCounts(m.base, this.width, this.height);
      else if (m.kind === "polygon") fill((bitmap = fromCounts("", this.width, this.height)), m.points);
      else paint((bitmap ??= fromCounts(m.base, this.width, this.height)), m.points, m.width, m.kind === "paint" ? 1 : 0);
    }
    const made = bitmap && { marks, bitmap, area: bitmap.bits.reduce((sum, bit) => sum + bit, 0) };
    this.#made.set(id, made);
    return made;
  }
}
