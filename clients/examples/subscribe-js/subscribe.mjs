// Prints every mask of every camera: the camera, the frame's number, and each
// object's name, state, area and centre, taken from the decoded mask, and the
// extent of what has a track.
//
//	make clients                     # in segd's repository: dist/segd-VERSION.tgz
//	npm install dist/segd-*.tgz
//	node subscribe.mjs [nats://127.0.0.1:4222]
//
// docs/bus.md has every field.
import { connect, mask, State } from "segd";

function line(frame, object) {
  const { width } = frame;
  let area = 0, x = 0, y = 0;
  mask(frame, object).forEach((bit, i) => {
    area += bit;
    x += bit * (i % width);
    y += bit * Math.floor(i / width);
  });
  let text = `${frame.camera} ${frame.sequence} ${object.label} ${State[object.state].toLowerCase()} ${area} px`;
  if (area) text += ` around ${(x / area).toFixed(1)},${(y / area).toFixed(1)}`;
  const extent = object.extent; // all of it, also while it is hidden
  return extent ? `${text} within ${extent.x},${extent.y} ${extent.width}×${extent.height}` : text;
}

const segd = await connect(process.argv[2], { site: "*" });
for await (const frame of segd.masks()) {
  for (const object of frame.objects) {
    try {
      console.log(line(frame, object));
    } catch (error) { // the others of the frame may be sound
      console.error(`${frame.camera} ${frame.sequence}, object ${object.id}: ${error.message}`);
    }
  }
}
