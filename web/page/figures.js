// The row of figures under the picture. Places and widths are fixed, so that
// nothing jumps while numbers change.
import { element, setText } from "./dom.js";
import { count, milliseconds, rate, unknown } from "./format.js";

const figures = [
  { key: "fps", name: "Published/s", title: "Frames the camera's pipeline publishes each second" },
  { key: "shown", name: "Drawn here/s", title: "Frames this page draws each second" },
  { key: "p50", name: "Latency p50", title: "Capture to publish, median of the last seconds" },
  { key: "p95", name: "Latency p95", title: "Capture to publish, 95th percentile of the last seconds" },
  { key: "age", name: "Frame age", title: "Capture to screen for the frame shown, without the least network delay" },
  { key: "frame", name: "Frame", title: "Sequence number of the frame shown" },
  { key: "dropped", name: "Dropped", title: "Frames the pipeline left out because a newer one was there" },
  { key: "skipped", name: "Not drawn here", title: "Frames not sent because this page was too slow" },
];

export class Figures {
  #values = new Map();

  constructor(list) {
    for (const f of figures) {
      const box = element("div", "figure");
      box.title = f.title;
      const value = element("dd", "number", unknown);
      box.append(element("dt", "muted", f.name), value);
      list.append(box);
      this.#values.set(f.key, value);
    }
  }

  // show brings the row up to date. When the feed is not live, what was said of
  // the present is no longer known, and the frame on screen ages.
  show(feed, live) {
    const status = feed.link === "open" ? feed.status : null;
    const mask = feed.frame?.mask;
    const values = {
      fps: rate(number(status?.fpsOut)),
      shown: rate(feed.rate()),
      p50: seconds(status?.latencyP50Seconds),
      p95: seconds(status?.latencyP95Seconds),
      age: feed.frame ? milliseconds(feed.frame.age + (live ? 0 : feed.quiet())) : unknown,
      frame: mask ? count(Number(mask.sequence)) : unknown,
      dropped: count(number(status?.framesDropped)),
      skipped: count(feed.dropped),
    };
    for (const [key, node] of this.#values) setText(node, values[key]);
  }
}

function number(v) {
  return v === undefined || v === null ? NaN : Number(v);
}

// seconds gives a latency of a Status, whose zero says that nothing was measured.
function seconds(v) {
  return v > 0 ? milliseconds(1000 * v) : unknown;
}
