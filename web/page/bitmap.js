// A mask that is painted pixel by pixel, and its outline as one polygon.
import { decode, parseCounts } from "./rle.js";
import { polygons } from "./outline.js";

// fromCounts makes a bitmap (row-major, 0 or 1 a pixel) of COCO run lengths; ""
// is empty.
export function fromCounts(counts, width, height) {
  const bits = new Uint8Array(width * height);
  if (counts) {
    const part = decode(parseCounts(counts), width, height);
    for (let y = 0; y < part.height; y++) {
      bits.set(part.bits.subarray(y * part.width, (y + 1) * part.width), (y + part.top) * width + part.left);
    }
  }
  return { left: 0, top: 0, width, height, bits };
}

// paint sets every pixel whose centre is within half a width of a line.
export function paint(bitmap, points, brush, value) {
  const radius = Math.max(brush / 2, 0.75);
  let last = points[0];
  for (const p of points) {
    const x0 = Math.max(0, Math.floor(Math.min(last[0], p[0]) - radius));
    const x1 = Math.min(bitmap.width - 1, Math.ceil(Math.max(last[0], p[0]) + radius));
    const y0 = Math.max(0, Math.floor(Math.min(last[1], p[1]) - radius));
    const y1 = Math.min(bitmap.height - 1, Math.ceil(Math.max(last[1], p[1]) + radius));
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        if (distance(x + 0.5, y + 0.5, last, p) <= radius) bitmap.bits[y * bitmap.width + x] = value;
      }
    }
    last = p;
  }
}

// fill sets every pixel whose centre is in a polygon, by the even-odd rule.
export function fill(bitmap, points) {
  for (let row = 0; row < bitmap.height; row++) {
    const y = row + 0.5;
    const crossings = points.flatMap(([x1, y1], i) => {
      const [x0, y0] = points.at(i - 1);
      return y0 <= y !== y1 <= y ? [x0 + ((y - y0) * (x1 - x0)) / (y1 - y0)] : [];
    }).sort((a, b) => a - b);
    for (let i = 0; i < crossings.length; i += 2) {
      for (let x = Math.max(0, Math.ceil(crossings[i] - 0.5)); x < bitmap.width && x + 0.5 < crossings[i + 1]; x++) bitmap.bits[row * bitmap.width + x] = 1;
    }
  }
}

function distance(x, y, a, b) {
  const dx = b[0] - a[0];
  const dy = b[1] - a[1];
  const length = dx * dx + dy * dy;
  const t = length > 0 ? Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / length)) : 0;
  return Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

// toPolygon joins a mask's loops (see outline.js) to one polygon that holds the
// same pixels by the even-odd rule: the ways between the loops are gone there and
// back, which counts for nothing.
export function toPolygon(loops) {
  const points = [];
  for (const loop of loops) {
    for (let i = 0; i < loop.length; i += 2) points.push([loop[i], loop[i + 1]]);
    points.push([loop[0], loop[1]]);
    if (loop !== loops[0]) points.push(points[0]);
  }
  return points;
}

export const outline = polygons;
