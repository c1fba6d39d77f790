// Drawing zones and lines over the picture, and the one that somebody draws.
import { drawText } from "./draw.js";
import { casing, dot, drawCross, line } from "./ink.js";
import { counted } from "./zonecounts.js";

const plain = "#f4f7fa";
const busy = "#7fe0ff"; // an object is inside
const wrong = "#ff7a70";
const arrow = 15; // CSS pixels to either side of a line

// drawZones draws those of a layout, with the counts of a Status, on a picture of that size
// that was drawn at a place.
export function drawZones(ctx, { layout, status, size }, place, ratio) {
  const all = counted(layout, status).map((z) => ({ ...z, points: inPixels(z.points, size) }));
  const px = ratio / place.scale; // a CSS pixel in pixels of the picture, down
  within(ctx, place, () => {
    for (const z of all) drawShape(ctx, z, true, z.busy ? busy : plain, px);
  });
  for (const z of all) {
    const style = z.busy ? busy : plain;
    if (z.kind === "line") drawSides(ctx, z.points, style, place, ratio);
    drawText(ctx, `${z.name}: ${z.words}`, style, nameAt(z, place), ratio);
  }
}

// drawDraft draws what somebody draws, { kind, points, toward, done }, red and with the number of
// each corner when it was refused. cross is the keyboard's cross or null.
export function drawDraft(ctx, { draft, refused, cross, size }, place, ratio) {
  const points = inPixels(draft.points, size);
  const toward = draft.toward && !draft.done ? inPixels([draft.toward], size) : [];
  const style = refused ? wrong : busy;
  const px = ratio / place.scale;
  within(ctx, place, () => {
    if (points.length > 0) drawShape(ctx, { kind: draft.kind, points: [...points, ...toward] }, draft.done, style, px);
    for (const [i, p] of points.entries()) dot(ctx, p, (i === 0 && !draft.done ? 6 : 3.5) * px, style, px);
    if (cross) drawCross(ctx, cross, busy, px);
  });
  if (draft.kind === "line" && draft.done) drawSides(ctx, points, style, place, ratio);
  if (refused) for (const [i, p] of points.entries()) drawText(ctx, String(i), style, onCanvas(p, place), ratio);
}

const inPixels = (points, size) => points.map(([x, y]) => [x * size.width, y * size.height]);
const onCanvas = ([x, y], { left, top, scale, across }) => ({ x: left + x * across, y: top + y * scale });

// within draws in pixels of the picture.
function within(ctx, { left, top, scale, across }, draw) {
  ctx.save();
  ctx.setTransform(across, 0, 0, scale, left, top);
  ctx.lineCap = ctx.lineJoin = "round";
  draw();
  ctx.restore();
}

function drawShape(ctx, { kind, points }, closed, style, px) {
  const path = line(points, closed && kind === "zone");
  if (closed && kind === "zone") {
    ctx.globalAlpha = style === plain ? 0.08 : 0.2;
    ctx.fillStyle = style;
    ctx.fill(path);
    ctx.globalAlpha = 1;
  }
  casing(ctx, path, style, px);
}

// drawSides draws an arrow through the middle of a line from its side a, which is on the left
// hand of who looks from the first point to the second, to its side b.
function drawSides(ctx, [from, to], style, place, ratio) {
  const p = onCanvas(from, place);
  const q = onCanvas(to, place);
  const length = Math.hypot(q.x - p.x, q.y - p.y) || 1;
  const [nx, ny] = [-(q.y - p.y) / length, (q.x - p.x) / length]; // to b
  const [mx, my] = [(p.x + q.x) / 2, (p.y + q.y) / 2];
  const at = (along, across) => [mx + (nx * along + ny * across) * ratio, my + (ny * along - nx * across) * ratio];
  ctx.save();
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.lineCap = ctx.lineJoin = "round";
  const path = line([at(-arrow, 0), at(arrow, 0)]);
  path.addPath(line([at(arrow - 6, -5), at(arrow, 0), at(arrow - 6, 5)]));
  casing(ctx, path, style, ratio);
  ctx.restore();
  for (const [name, along] of [["a", -arrow - 13], ["b", arrow + 13]]) {
    const [x, y] = at(along, 0);
    drawText(ctx, name, style, { x, y: y + 15 * ratio }, ratio);
  }
}

// nameAt is at the foot of a zone, as objects have theirs above their heads, and where a line
// begins, away from its arrow.
function nameAt({ kind, points }, place) {
  if (kind === "line") return onCanvas(points[0], place);
  const xs = points.map(([x]) => x);
  return onCanvas([(Math.min(...xs) + Math.max(...xs)) / 2, Math.max(...points.map(([, y]) => y))], place);
}
