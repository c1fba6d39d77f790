// What a browser sees of each mask: seen has [sequence, label, pixels, first, last], the pixels counted by rows.
import { connect, mask } from "segd";

window.seen = [];
const segd = await connect(new URLSearchParams(location.search).get("nats"));
for await (const frame of segd.masks()) {
  for (const object of frame.objects) {
    try {
      const bits = mask(frame, object);
      window.seen.push([Number(frame.sequence), object.label, bits.filter((bit) => bit).length, bits.indexOf(1), bits.lastIndexOf(1)]);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
}
