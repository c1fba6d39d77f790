// Which frames were left out, and why.
import { element, setText } from "./dom.js";
import { count } from "./format.js";

const reasons = [
  { key: "droppedBeforeFeatures", name: "Too slow", why: "A newer frame came first: segd computes slower than the camera sends." },
  { key: "droppedBeforeTracking", name: "Overtaken", why: "A newer frame came before the masks of this one were begun, as after an annotation." },
  { key: "framesFailed", name: "Failed", why: "The frame could not be computed or published; the log says more." },
  { key: "lost", name: "Lost", why: "Parts of it never came: the network between the camera and segd." },
  { key: "undecodable", name: "Undecodable", why: "It came whole, and no picture could be made of it." },
  { key: "skipped_disposable", name: "Spared", why: "Not decoded, because nothing depends on it and segd is busy." },
  { key: "skipped_overflow", name: "Too much at once", why: "More waited to be decoded than there is room for." },
  { key: "skipped_no_key", name: "Before a key frame", why: "The connection began in the middle of the video." },
  { key: "framesUnseen", name: "Not drawn", why: "The masks went out, but there was no time to make the picture for the page." },
  { key: "here", name: "Not drawn here", why: "This page or its connection was too slow; the masks are not affected." },
];

export class LeftOut {
  #rows = new Map();

  constructor({ list, total, none }) {
    Object.assign(this, { list, total, none });
    for (const { key, name, why } of reasons) {
      const item = element("li", "reason");
      const value = element("span", "number");
      item.append(element("span", "reason-name", name), value, element("span", "muted", why));
      item.hidden = true;
      list.append(item);
      this.#rows.set(key, { item, value });
    }
  }

  show(feed) {
    const status = feed.status ?? {};
    let all = 0;
    for (const [key, row] of this.#rows) {
      const n = key === "here" ? feed.dropped : Number(status[key] ?? status.missed?.[key] ?? 0);
      all += n;
      row.item.hidden = n === 0;
      setText(row.value, count(n));
    }
    this.none.hidden = all > 0;
    setText(this.total, all > 0 ? `${count(all)} of ${count(Math.max(all, Number(status.framesIn ?? 0)))}` : "");
  }
}
