// What somebody draws on one frame, with undo, and the annotation it makes.
//
// A mark is { kind, id, points, width, base }: kind is object or background (a
// stroke), box (two corners), polygon, paint or erase (strokes on the mask itself);
// id is the object; width the brush in pixels of the picture; base, of paint and
// erase, the mask (COCO counts) they began with.
import { fromCounts, outline, paint, toPolygon } from "./bitmap.js";

const closest = 1; // pixels: nearer points of a stroke add nothing

export class Sketch {
  marks = [];
  names = new Map(); // object → name, of new objects and those that were given another
  #undone = [];

  constructor({ sequence, width, height }) {
    Object.assign(this, { sequence, width, height });
  }

  get canUndo() { return this.marks.length > 0; }
  get canRedo() { return this.#undone.length > 0; }

  // says tells whether there is anything to tell segd.
  get says() { return this.annotation() !== null; }

  add(mark) {
    this.marks.push(mark);
    this.#undone = [];
  }

  undo() {
    if (this.canUndo) this.#undone.push(this.marks.pop());
  }

  redo() {
    if (this.canRedo) this.marks.push(this.#undone.pop());
  }

  // marked lists the objects that something is said of.
  marked() {
    return [...new Set(this.marks.filter((m) => m.kind !== "background").map((m) => m.id))];
  }

  // counting lists the marks that say something: a new box or polygon stands for the last.
  counting() {
    const own = new Set(this.marked().flatMap((id) => since(this.marks, id)));
    return this.marks.filter((m) => m.kind === "background" || own.has(m));
  }

  // renumber gives an object another number.
  renumber(from, to) {
    for (const m of [...this.marks, ...this.#undone]) if (m.id === from) m.id = to;
    if (this.names.has(from)) this.names.set(to, this.names.get(from));
    this.names.delete(from);
  }

  // painted returns the bitmap of an object that was painted, or null.
  painted(id, draft = null) {
    const marks = draft ? [...this.marks, draft] : this.marks;
    const strokes = since(marks, id).filter(isPaint);
    if (strokes.length === 0) return null;
    const bitmap = fromCounts(strokes[0].base, this.width, this.height);
    for (const s of strokes) paint(bitmap, s.points, s.width, s.kind === "paint" ? 1 : 0);
    return bitmap;
  }

  // annotation is what segd is told, or null when there is nothing to tell: an object
  // that was wiped away altogether is no mask.
  annotation(frame = this.sequence) {
    const objects = this.marked().map((id) => this.#object(id)).filter((o) => o.polygon?.length !== 0);
    const background = this.marks.filter((m) => m.kind === "background").map(toStroke);
    if (objects.length === 0 && background.length === 0) return null;
    const a = { frame, width: this.width, height: this.height, objects };
    if (background.length > 0) a.background = background;
    return a;
  }

  #object(id) {
    const o = { id };
    if (this.names.has(id)) o.label = this.names.get(id);
    const marks = since(this.marks, id);
    const scribbles = marks.filter((m) => m.kind === "object").map(toStroke);
    if (scribbles.length > 0) o.scribbles = scribbles;
    const extent = marks.findLast((m) => m.kind === "box" || m.kind === "polygon" || isPaint(m));
    if (extent?.kind === "box") o.box = toBox(extent.points);
    if (extent?.kind === "polygon") o.polygon = extent.points;
    if (extent && isPaint(extent)) o.polygon = toPolygon(outline(this.painted(id)));
    return o;
  }
}

const isPaint = (m) => m.kind === "paint" || m.kind === "erase";
const startsAnew = (m) => m.kind === "box" || m.kind === "polygon";

// since returns an object's marks that count: painting begins with the mask that
// was seen, which holds what was drawn before, and a box or a polygon ends it.
function since(marks, id) {
  let own = marks.filter((m) => m.id === id && m.kind !== "background");
  const shape = own.findLastIndex(startsAnew);
  if (shape >= 0) own = own.filter((m, i) => i >= shape || m.kind === "object");
  const first = own.findIndex(isPaint);
  return first > 0 ? own.slice(first) : own;
}

function toStroke({ width, points }) {
  return { width, points };
}

function toBox([a, b]) {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])];
}

// extend adds a point to a stroke, unless it is where the last one was.
export function extend(points, p) {
  const last = points.at(-1);
  if (!last || Math.hypot(p[0] - last[0], p[1] - last[1]) >= closest) points.push(p);
}
