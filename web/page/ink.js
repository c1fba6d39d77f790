// Drawing what somebody marks: over the frozen picture, under the pointer.
import { outline } from "./bitmap.js";
import { toPath } from "./outline.js";

const dark = "rgb(5 8 10 / .8)";
const light = "#ffffff";

// Painted keeps the outlines of painted masks, which cost to find.
class Painted {
  #sketch = null;
  #marks = -1;
  #paths = new Map();

  get(sketch, id) {
    if (sketch !== this.#sketch || sketch.marks.length !== this.#marks) this.#paths.clear();
    this.#sketch = sketch;
    this.#marks = sketch.marks.length;
    if (!this.#paths.has(id)) {
      const bitmap = sketch.painted(id);
      this.#paths.set(id, bitmap && toPath(outline(bitmap)));
    }
    return this.#paths.get(id);
  }
}
const painted = new Painted();

// drawInk draws a sketch and the pen's draft. place is where the picture lies (see
// view.js), ratio canvas pixels per CSS pixel, cross the keyboard's cross or null, hovered the
// thing that would become object target or null.
export function drawInk(ctx, { sketch, draft, cross, tool, hovered, target, colours }, place, ratio) {
  const colour = (id) => colours.of(id);
  const px = ratio / place.scale; // a CSS pixel in pixels of the picture, down
  ctx.save();
  ctx.setTransform(place.across, 0, 0, place.scale, place.left, place.top);
  ctx.lineCap = "round";
  ctx.lineJoin = "round";
  for (const id of sketch.marked()) {
    const path = painted.get(sketch, id);
    if (path) casing(ctx, path, colour(id), px);
  }
  for (const mark of sketch.counting()) drawMark(ctx, mark, px, colour);
  if (hovered) casing(ctx, hovered.path, colour(target), px);
  if (draft) drawDraft(ctx, draft, px, colour);
  if (cross) drawCross(ctx, cross, tool === "background" || tool === "erase" ? light : "#7fe0ff", px);
  ctx.restore();
}

function drawMark(ctx, mark, px, colour) {
  switch (mark.kind) {
    case "object":
      return stroke(ctx, mark, colour(mark.id), 0.85);
    case "background":
      stroke(ctx, mark, dark, 0.5);
      return dashes(ctx, line(mark.points), light, px);
    case "box":
      return casing(ctx, box(mark.points), colour(mark.id), px);
    case "polygon":
      return casing(ctx, line(mark.points, true), colour(mark.id), px);
  }
}

function drawDraft(ctx, draft, px, colour) {
  if (draft.kind === "paint") return stroke(ctx, draft, colour(draft.id), 0.6);
  if (draft.kind === "erase") return stroke(ctx, draft, light, 0.6);
  if (draft.kind !== "polygon") return drawMark(ctx, draft, px, colour);
  const points = draft.toward ? [...draft.points, draft.toward] : draft.points;
  casing(ctx, line(points), colour(draft.id), px);
  for (const [i, p] of draft.points.entries()) dot(ctx, p, (i === 0 ? 6 : 3.5) * px, colour(draft.id), px);
}

function stroke(ctx, { points, width }, style, alpha) {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = style;
  ctx.lineWidth = width;
  ctx.stroke(line(points));
  ctx.globalAlpha = 1;
}

function dashes(ctx, path, style, px) {
  ctx.strokeStyle = style;
  ctx.lineWidth = 1.5 * px;
  ctx.setLineDash([5 * px, 5 * px]);
  ctx.stroke(path);
  ctx.setLineDash([]);
}

// casing draws a line that is seen on any picture, as wide across as down.
export function casing(ctx, path, style, px) {
  const to = ctx.getTransform();
  const line = new Path2D();
  line.addPath(path, to);
  ctx.save();
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.strokeStyle = dark;
  ctx.lineWidth = 4.5 * px * to.d;
  ctx.stroke(line);
  ctx.strokeStyle = style;
  ctx.lineWidth = 2 * px * to.d;
  ctx.stroke(line);
  ctx.restore();
}

// squeeze is how many pixels of the picture across are as long as one down.
function squeeze(ctx) {
  const { a, d } = ctx.getTransform();
  return d / a;
}

export function dot(ctx, [x, y], radius, style, px) {
  ctx.beginPath();
  ctx.ellipse(x, y, radius * squeeze(ctx), radius, 0, 0, 2 * Math.PI);
  ctx.fillStyle = style;
  ctx.fill();
  ctx.strokeStyle = dark;
  ctx.lineWidth = 1.5 * px;
  ctx.stroke();
}

export function drawCross(ctx, [x, y], style, px) {
  const path = new Path2D();
  const s = squeeze(ctx);
  for (const [dx, dy] of [[s, 0], [0, 1], [-s, 0], [0, -1]]) {
    path.moveTo(x + 4 * px * dx, y + 4 * px * dy);
    path.lineTo(x + 14 * px * dx, y + 14 * px * dy);
  }
  casing(ctx, path, style, px);
}

// line is a path through points; one point alone is a dot of the brush's width.
export function line(points, closed = false) {
  const path = new Path2D();
  path.moveTo(points[0][0], points[0][1]);
  for (const [x, y] of points.length > 1 ? points.slice(1) : points) path.lineTo(x, y);
  if (closed) path.closePath();
  return path;
}

function box([a, b = a]) {
  const path = new Path2D();
  path.rect(Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1]));
  return path;
}
