// The large picture of one camera with its state: live, or frozen to be marked.
import { setText } from "./dom.js";
import { draw, drawExtents, drawLabels, drawRegions, fit, unlit } from "./draw.js";
import { drawZones } from "./drawzones.js";
import { count } from "./format.js";
import { health, overload } from "./health.js";
import { aspectOf, View } from "./view.js";

export class Stage {
  view = new View();
  #frozen = null; // { frame, objects(), ink(ctx, place, ratio) }
  #drawn = null; // { ink(ctx, place, ratio) }, on the live picture

  constructor({ box, canvas, name, state, veil, title, text, behind }) {
    Object.assign(this, { box, canvas, name, state, veil, title, text, behind });
    this.feed = null;
    this.masks = true;
    this.regions = false; // whether it is shown where objects are looked for
    this.pointed = 0; // the object that stands out; 0: none
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  get frozen() { return this.#frozen !== null; }

  // select shows another camera; its last frame at once, if there is one.
  select(feed) {
    this.feed = feed;
    this.pointed = 0; // another camera has another object of that number
    setText(this.name, feed.camera);
    if (feed.size) this.#setRatio(feed.size.width, feed.size.height);
    document.title = `${feed.camera} · segd`;
    if (feed.frame) this.paint();
    else this.#clear();
    this.refresh();
  }

  // clear shows that there is no camera.
  clear() {
    this.feed = null;
    setText(this.name, "\u00a0");
    document.title = "segd";
    this.box.dataset.kind = this.veil.dataset.kind = "waiting";
    this.behind.hidden = true;
    this.veil.hidden = false;
    this.canvas.setAttribute("aria-label", "No picture");
    this.#clear();
  }

  // freeze shows one frame until thaw.
  freeze(frozen) {
    this.#frozen = frozen;
    this.#takeKeys();
  }

  thaw() {
    this.#frozen = null;
    this.#leaveKeys();
  }

  // drawOn has somebody draw on the live picture, until it is called with null.
  drawOn(drawn) {
    this.#drawn = drawn;
    if (drawn) this.#takeKeys();
    else this.#leaveKeys();
  }

  #takeKeys() {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.refresh();
    this.canvas.focus({ preventScroll: true });
  }

  #leaveKeys() {
    this.view.reset();
    this.canvas.removeAttribute("tabindex");
    this.canvas.setAttribute("role", "img");
    this.refresh();
    this.paint();
  }

  // at returns the number of the object that a pointer is on, of the live picture's; 0: none.
  at({ offsetX, offsetY }) {
    const frame = this.feed?.frame;
    if (!frame || this.#frozen || this.#drawn || !this.masks) return 0;
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const place = this.view.place(this.canvas, frame.mask);
    const x = (offsetX * ratio - place.left) / place.across;
    const y = (offsetY * ratio - place.top) / place.scale;
    return frame.objects.find((o) => this.inside(o.path, x, y))?.id ?? 0;
  }

  // inside tells whether a point of the picture is in an object's path.
  inside(path, x, y) {
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    return ctx.isPointInPath(path, x, y, "evenodd");
  }

  // point makes an object stand out.
  point(id) {
    if (id === this.pointed) return;
    this.pointed = id;
    if (!this.#frozen) this.paint();
  }

  // paint draws the newest frame, or the frozen one.
  paint() {
    const frozen = this.#frozen;
    const frame = frozen?.frame ?? this.feed?.frame;
    const ratio = fit(this.canvas);
    if (!frame) return;
    this.#setRatio(frame.mask.width * aspectOf(frame.mask), frame.mask.height);
    const objects = frozen?.objects() ?? frame.objects;
    const masks = this.masks || frozen !== null;
    const { colours } = this.feed;
    const place = draw(this.canvas, { image: frame.image, objects, size: frame.mask }, { masks, ratio, view: this.view, colours, pointed: frozen ? 0 : this.pointed });
    const ctx = this.canvas.getContext("2d");
    if (masks) drawExtents(ctx, objects, place, ratio, colours);
    frozen?.ink(ctx, place, ratio);
    if (!frozen) drawZones(ctx, { layout: this.feed.layout, status: this.feed.status, size: frame.mask }, place, ratio);
    if (masks) drawLabels(ctx, objects, place, ratio, colours);
    if (this.regions && !frozen) drawRegions(ctx, frame.regions, place, ratio); // a label may be where a region ends
    this.#drawn?.ink(ctx, place, ratio);
  }

  // refresh brings pill, veil and description up to date and tells whether the
  // picture is live. box: { cores, cameras } of the machine.
  refresh(box = null) {
    if (!this.feed) return false;
    const h = this.#frozen ? frozenHealth(this.#frozen.frame) : health(this.feed);
    const late = h.behind ? overload(this.feed, box) : "";
    this.behind.hidden = late === "";
    setText(this.behind, late);
    this.box.dataset.kind = h.kind;
    this.state.dataset.state = h.behind ? "behind" : h.kind;
    setText(this.state, h.pill);
    this.veil.hidden = h.title === "";
    this.veil.dataset.kind = h.kind;
    setText(this.title, h.title);
    setText(this.text, h.text);
    const label = this.#frozen
      ? `Frozen picture of ${this.feed.camera}. Arrow keys move the cross, the space bar puts the pen down and lifts it.`
      : `Live picture of ${this.feed.camera}: ${h.title || h.pill}${this.#drawn ? ". Arrow keys move the cross, the space bar sets a corner." : ""}`;
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

function frozenHealth(frame) {
  return { kind: "frozen", pill: `Frozen, frame ${count(Number(frame.mask.sequence))}`, title: "", text: "" };
}
