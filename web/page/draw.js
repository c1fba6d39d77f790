// Drawing one frame: the picture, then the masks that came with it.
import { nameOf } from "./message.js";

export const unlit = "#0b0e11"; // as --unlit in style.css
const tint = 0.34;
const strongTint = 0.52; // of a preview, and of what is pointed at
const labelTries = 6; // places for a label, upwards and downwards, so that it covers no other
const chipFont = 12; // CSS px
const chipPad = 5;
const chipBack = "rgba(8, 11, 14, 0.78)";

// fit sizes the canvas' pixels to its place on the screen.
export function fit(canvas) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return ratio;
}

// draw paints { image, objects, size } into canvas and returns where (see view.js); size
// is that of the frame, of which the image may be a smaller one.
// options: masks (draw them at all), ratio (canvas pixels per CSS pixel), view, colours, pointed (the number of the object
// that is to stand out).
export function draw(canvas, { image, objects, size }, { masks, ratio, view, colours, pointed }) {
  const ctx = canvas.getContext("2d", { alpha: false });
  const place = view.place(canvas, size);
  const { scale, across, left, top } = place;
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.fillStyle = unlit;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.imageSmoothingQuality = "medium";
  ctx.drawImage(image, left, top, size.width * across, size.height * scale);
  if (masks) for (const object of objects) drawMask(ctx, object, place, ratio, colours.of(object.id), object.preview || object.id === pointed);
  return place;
}

// drawRegions draws where objects are looked for, and how much larger than the rest, on a
// picture that was drawn at a place. Lines are dark with light dashes, to be seen on both.
export function drawRegions(ctx, regions, place, ratio) {
  const line = thin(ratio);
  ctx.save();
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.lineWidth = line;
  ctx.font = `600 ${chipFont * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  for (const region of regions) {
    const { x, y } = strokeDashed(ctx, region, place, "#fff", 5 * line);
    if (region.zoom > 1) drawZoom(ctx, `×${region.zoom}`, x + line, y + line, ratio);
  }
  ctx.restore();
}

// drawExtents draws the box round all of each object that has a track, on a picture that was drawn at a place:
// plain of one that is hidden, which has nothing else to be seen by.
export function drawExtents(ctx, objects, place, ratio, colours) {
  const line = thin(ratio);
  ctx.save();
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.lineWidth = line;
  for (const { id, area, extent } of objects) {
    if (!extent) continue;
    ctx.globalAlpha = area > 0 ? 0.5 : 1;
    strokeDashed(ctx, extent, place, colours.of(id), 3 * line);
  }
  ctx.restore();
}

function thin(ratio) {
  return Math.max(1, Math.round(ratio));
}

// strokeDashed draws a box of the picture, within it and on whole pixels, dark with dashes, and returns its corner.
function strokeDashed(ctx, box, { left, top, scale, across }, style, dash) {
  const line = ctx.lineWidth;
  const x = Math.round(left + box.x * across);
  const y = Math.round(top + box.y * scale);
  const right = Math.round(left + (box.x + box.width) * across);
  const bottom = Math.round(top + (box.y + box.height) * scale);
  const side = [x + line / 2, y + line / 2, right - x - line, bottom - y - line];
  ctx.setLineDash([]);
  ctx.strokeStyle = "#000";
  ctx.strokeRect(...side);
  ctx.setLineDash([dash, dash]);
  ctx.strokeStyle = style;
  ctx.strokeRect(...side);
  return { x, y };
}

function drawZoom(ctx, text, x, y, ratio) {
  ctx.fillStyle = chipBack;
  ctx.fillRect(x, y, ctx.measureText(text).width + 2 * chipPad * ratio, (chipFont + 6) * ratio);
  ctx.fillStyle = "#fff";
  ctx.fillText(text, x + chipPad * ratio, y + 3 * ratio);
}

// drawLabels names each object, on a picture that was drawn at a place.
export function drawLabels(ctx, objects, place, ratio, colours) {
  const taken = [];
  for (const object of objects) drawChip(ctx, object, place, ratio, colours.of(object.id), taken);
}

function drawMask(ctx, object, { left, top, scale, across }, ratio, colour, strong) {
  const path = new Path2D();
  path.addPath(object.path, new DOMMatrix([across, 0, 0, scale, left, top]));
  ctx.save();
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.lineJoin = "round";
  ctx.fillStyle = colour;
  ctx.globalAlpha = strong ? strongTint : tint;
  ctx.fill(path, "evenodd");
  ctx.globalAlpha = 0.55;
  ctx.strokeStyle = "#000";
  ctx.lineWidth = 3.5 * ratio;
  ctx.stroke(path);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.75 * ratio;
  ctx.stroke(path);
  ctx.restore();
}

// drawChip names an object just above its mask or, if it is hidden, its extent, and says so; if any of that is in sight.
function drawChip(ctx, object, { left, top, scale, across }, ratio, colour, taken) {
  const box = boundsOf(object);
  const { canvas } = ctx;
  if (!box || left + box.right * across < 0 || top + box.bottom * scale < 0 ||
    left + box.left * across > canvas.width || top + box.top * scale > canvas.height) return;
  const name = nameOf(object);
  const text = object.loops.length > 0 ? name : `${name}, ${object.state}`;
  drawText(ctx, text, colour, { x: left + ((box.left + box.right) / 2) * across, y: top + box.top * scale }, ratio, taken);
}

// drawText writes above a place of the canvas, on dark, and keeps to the canvas. taken are the places of texts that it
// is not to cover, if there is room; its own is added.
export function drawText(ctx, text, style, at, ratio, taken = []) {
  const { canvas } = ctx;
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.font = `600 ${chipFont * ratio}px system-ui, sans-serif`;
  const width = ctx.measureText(text).width + 2 * chipPad * ratio;
  const height = (chipFont + 8) * ratio;
  const x = clamp(at.x - width / 2, 0, canvas.width - width);
  const above = clamp(at.y - height - 5 * ratio, 0, canvas.height - height);
  const free = (y) => y >= 0 && y + height <= canvas.height &&
    !taken.some((t) => x < t.x + t.width && t.x < x + width && y < t.y + height && t.y < y + height);
  const tries = Array.from({ length: labelTries }, (_, k) => k * (height + ratio)).flatMap((by) => [above - by, above + by]);
  const y = tries.find(free) ?? above;
  taken.push({ x, y, width, height });
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, 4 * ratio);
  ctx.fillStyle = chipBack;
  ctx.fill();
  ctx.fillStyle = style;
  ctx.textBaseline = "middle";
  ctx.fillText(text, x + chipPad * ratio, y + height / 2 + ratio / 2);
}

// boundsOf is the box round an object's loops, or its extent when it has none, or null.
function boundsOf({ loops, extent }) {
  if (loops.length === 0) {
    return extent && { left: extent.x, top: extent.y, right: extent.x + extent.width, bottom: extent.y + extent.height };
  }
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const loop of loops) {
    for (let i = 0; i < loop.length; i += 2) {
      box.left = Math.min(box.left, loop[i]);
      box.right = Math.max(box.right, loop[i]);
      box.top = Math.min(box.top, loop[i + 1]);
      box.bottom = Math.max(box.bottom, loop[i + 1]);
    }
  }
  return box;
}

function clamp(v, low, high) {
  return Math.max(low, Math.min(v, Math.max(low, high)));
}
