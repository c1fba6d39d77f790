// What became of each object in the last minute: visible, occluded or lost.
import { span } from "./format.js";

export const reach = 60000; // ms
const gap = 3000; // ms without a frame: nothing is known of that time
const heights = { visible: 1, occluded: 0.55, lost: 0.25 }; // told by shape, not by colour alone

// Timelines remembers the states of one camera's objects.
export class Timelines {
  #pieces = new Map(); // object → [{ state, from, to }], oldest first

  // record takes a frame's objects, shown at now.
  record(objects, now) {
    for (const { id, state } of objects) {
      if (!this.#pieces.has(id)) this.#pieces.set(id, []);
      const pieces = this.#pieces.get(id);
      const last = pieces.at(-1);
      if (last && now - last.to < gap) last.to = now;
      if (!last || last.state !== state || now - last.to >= gap) pieces.push({ state, from: now, to: now });
    }
    for (const [id, pieces] of this.#pieces) {
      while (pieces.length > 0 && now - pieces[0].to > reach) pieces.shift();
      // A number that is used anew is another object.
      if (!objects.some((o) => o.id === id)) this.#pieces.delete(id);
    }
  }

  of(id) {
    return this.#pieces.get(id) ?? [];
  }
}

// drawTimeline draws pieces into a small canvas, the present on the right.
export function drawTimeline(canvas, pieces, now) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (width === 0) return;
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const ctx = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  ctx.clearRect(0, 0, width, height);
  for (const { state, from, to } of pieces) {
    const share = heights[state];
    if (!share) continue;
    const x = Math.max(0, width * (1 - (now - from) / reach));
    const end = width * (1 - (now - to) / reach);
    ctx.fillStyle = style.getPropertyValue(`--${state}`);
    ctx.fillRect(x, height * (1 - share), Math.max(1, end - x), height * share);
  }
}

// describe says the same in words.
export function describe(pieces, now) {
  const times = {};
  for (const { state, from, to } of pieces) {
    times[state] = (times[state] ?? 0) + to - Math.max(from, now - reach);
  }
  const parts = Object.keys(heights).filter((s) => times[s] >= 500).map((s) => `${s} ${span(5000 * Math.ceil(times[s] / 5000))}`);
  return `Last minute: ${parts.join(", ") || "nothing yet"}`;
}
