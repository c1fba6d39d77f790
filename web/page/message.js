// One binary WebSocket message is one frame: the length of the header (uint32,
// big endian), the header (JSON), the JPEG of exactly the frame the header's
// masks belong to. A text message is JSON about the camera.
import { decode, parseCounts } from "./rle.js";
import { polygons } from "./outline.js";

const lengthBytes = 4;
const text = new TextDecoder();

export function parseFrame(buffer) {
  if (buffer.byteLength < lengthBytes) throw new Error("live: the message is shorter than its length field");
  const length = new DataView(buffer).getUint32(0);
  if (lengthBytes + length > buffer.byteLength) throw new Error("live: the header is longer than the message");
  const header = JSON.parse(text.decode(new Uint8Array(buffer, lengthBytes, length)));
  const jpeg = new Blob([new Uint8Array(buffer, lengthBytes + length)], { type: "image/jpeg" });
  return { header, jpeg };
}

// toObjects makes what the views draw and list from a MaskFrame, or from the answer
// to a preview.
export function toObjects(mask) {
  return (mask.objects ?? []).map((o) => ({
    id: o.id,
    label: o.label || `Object ${o.id}`,
    state: stateOf(o.state),
    area: Number(o.area ?? 0),
    score: Number(o.score ?? NaN),
    counts: o.counts ?? "",
    kind: o.class ?? "", // what it was detected as; empty for what people marked
    automatic: Boolean(o.automatic),
    extent: o.extent ? toBox(o.extent) : null, // all of it by its track, beyond the picture too; predicted while it is hidden
    loops: o.counts ? polygons(decode(parseCounts(o.counts), mask.width, mask.height)) : [],
  }));
}

// nameOf is what an object is called where several may have one label.
export function nameOf({ id, label }) {
  return new RegExp(`(^|\\D)${id}$`).test(label) ? label : `${label} ${id}`;
}

// toRegions makes of a MaskFrame where objects were looked for.
export function toRegions(mask) {
  return (mask.regionsOfInterest ?? []).map(({ box, zoom }) => ({ ...toBox(box), zoom }));
}

function toBox({ x = 0, y = 0, width, height }) {
  return { x, y, width, height };
}

// warning is a sentence about an object that was marked and has no mask.
export function warning(label, message) {
  return `${label} is not followed: ${message}.`;
}

// stateOf turns STATE_VISIBLE into visible.
function stateOf(name) {
  return (name ?? "").replace(/^STATE_/, "").toLowerCase() || "unknown";
}
