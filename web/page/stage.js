// The large picture of one camera with its state.
import { setText } from "./dom.js";
import { draw, fit, unlit } from "./draw.js";
import { health } from "./health.js";

export class Stage {

  constructor({ box, canvas, name, state, veil, title, text }) {
    Object.assign(this, { box, canvas, name, state, veil, title, text });
    this.feed = null;
    this.masks = true;
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  // select shows another camera; its last frame at once, if there is one.
  select(feed) {
    this.feed = feed;
    setText(this.name, feed.camera);
    if (feed.size) this.#setRatio(feed.size.width, feed.size.height);
    document.title = `${feed.camera} · segd`;
    if (feed.frame) this.paint();
    else this.#clear();
    this.refresh();
  }

  // paint draws the newest frame.
  paint() {
    const frame = this.feed?.frame;
    const ratio = fit(this.canvas);
    if (!frame) return;
    this.#setRatio(frame.image.width, frame.image.height);
    draw(this.canvas, frame, { masks: this.masks, labels: true, ratio });
  }

  // refresh brings pill, veil and description up to date and tells whether the
  // picture is live.
  refresh() {
    if (!this.feed) return false;
    const h = health(this.feed);
    this.box.dataset.kind = h.kind;
    this.state.dataset.state = h.kind;
    setText(this.state, h.pill);
    this.veil.hidden = h.kind === "live";
    this.veil.dataset.kind = h.kind;
    setText(this.title, h.title);
    setText(this.text, h.text);
    const label = `Live picture of ${this.feed.camera}: ${h.title || h.pill}`;
    if (this.canvas.getAttribute("aria-label") !== label) this.canvas.setAttribute("aria-label", label);
    return h.kind === "live";
  }

  // #setRatio shapes the box on narrow screens, where its height follows.
  #setRatio(width, height) {
    this.box.style.setProperty("--ratio", `${width} / ${height}`);
  }

  #clear() {
    fit(this.canvas);
    const ctx = this.canvas.getContext("2d", { alpha: false });
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.fillStyle = unlit;
    ctx.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }
}
