// Prints every mask of every camera: the camera, the frame's number, and each
// object's name, state, area and centre, taken from the decoded mask, and the
// extent of what has a track.
//
//	npm ci
//	node subscribe.mjs [nats://127.0.0.1:4222]
//
// To use it elsewhere, take segd.proto along; no code is generated from it.
// docs/bus.md has every field.
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import protobuf from "protobufjs";

const schema = await protobuf.load(fileURLToPath(new URL("../../bus/segdv1/segd.proto", import.meta.url)));
const MaskFrame = schema.lookupType("segd.v1.MaskFrame");

// parse returns the MaskFrame in a message as its JSON mapping has it, whether the
// message is JSON or protobuf: names in camelCase, 64-bit numbers as strings.
function parse(msg) {
  if (msg.headers?.get("Content-Type") === "application/json") return msg.json();
  return MaskFrame.toObject(MaskFrame.decode(msg.data), { longs: String, enums: String, defaults: true });
}

// runs returns the run lengths that a COCO string stands for. Five bits a
// character, the lowest first; from the fourth run on the string holds the
// difference to the run two before.
function runs(counts) {
  const lengths = [];
  for (let at = 0; at < counts.length;) {
    let value = 0, shift = 0, code;
    do {
      code = counts.charCodeAt(at++) - 48;
      value |= (code & 31) << shift;
      shift += 5;
    } while (code & 32);
    if (code & 16) value |= -1 << shift; // negative
    if (lengths.length > 2) value += lengths.at(-2);
    lengths.push(value);
  }
  return lengths;
}

// decode returns a mask of height rows of width pixels, 0 or 1 each. The runs go
// down the columns, background and object in turn.
function decode(counts, width, height) {
  const bitmap = new Uint8Array(width * height);
  let at = 0, inside = 0;
  for (const length of runs(counts)) {
    if (length < 0 || at + length > bitmap.length) throw new Error(`a run of ${length} pixels at ${at} in a picture of ${width}×${height}`);
    for (const end = at + length; at < end; at++)
      bitmap[(at % height) * width + Math.floor(at / height)] = inside;
    inside = 1 - inside;
  }
  if (at !== bitmap.length) throw new Error(`a mask of ${at} pixels in a picture of ${width}×${height}`);
  return bitmap;
}

function line(frame, object) {
  const { width, height } = frame;
  const bitmap = decode(object.counts, width, height);
  let area = 0, x = 0, y = 0;
  bitmap.forEach((bit, i) => {
    area += bit;
    x += bit * (i % width);
    y += bit * Math.floor(i / width);
  });
  const state = object.state.replace("STATE_", "").toLowerCase();
  let text = `${frame.camera} ${frame.sequence} ${object.label} ${state} ${area} px`;
  if (area) text += ` around ${(x / area).toFixed(1)},${(y / area).toFixed(1)}`;
  const extent = object.extent; // all of it, also while it is hidden
  return extent ? `${text} within ${extent.x},${extent.y} ${extent.width}×${extent.height}` : text;
}

// nats.js takes no user and password, or token, from the URL.
const server = new URL(process.argv[2] ?? "nats://127.0.0.1:4222");
const [user, pass] = [server.username, server.password].map(decodeURIComponent);
const login = pass ? { user, pass } : user ? { token: user } : {};
const nc = await connect({ servers: server.host, ...login, maxReconnectAttempts: -1 });
for await (const msg of nc.subscribe("segd.v1.*.*.mask")) {
  const frame = parse(msg);
  for (const object of frame.objects) {
    try {
      console.log(line(frame, object));
    } catch (err) { // the others of the frame may be sound
      console.error(`${frame.camera} ${frame.sequence}, object ${object.id}: ${err.message}`);
    }
  }
}
