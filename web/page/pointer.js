// Mouse, pen, fingers and arrow keys on the picture, as points of the picture.
// One finger draws, two move and zoom; the wheel zooms; arrow keys move a cross
// and the space bar puts the pen down and lifts it.

const wheelStep = 0.0016; // zoom for each pixel of wheel
const keyStep = 12; // CSS pixels an arrow key moves the cross, a quarter with Shift
const sameplace = 10; // CSS pixels

export class Pointer {
  cross = null; // where the keyboard's cross is, in pixels of the picture
  #canvas;
  #view;
  #to;
  #pointers = new Map(); // pointer → its last position on the canvas
  #drawing = null; // pointer that draws
  #keyDown = false;

  // to has: picture() (its size, or null when nothing may be drawn), down(p, near, shift),
  // move(p, hovering), up(), cancel(), changed(), and may have leave().
  constructor(canvas, view, to) {
    this.#canvas = canvas;
    this.#view = view;
    this.#to = to;
    const on = (type, handle) => canvas.addEventListener(type, (event) => to.picture() && handle(event), { passive: false });
    on("pointerdown", (e) => this.#down(e));
    on("pointermove", (e) => this.#move(e));
    on("pointerup", (e) => this.#up(e));
    on("pointerleave", () => {
      to.leave?.();
      to.changed();
    });
    on("pointercancel", (e) => this.#lost(e));
    on("wheel", (e) => this.#wheel(e));
    on("keydown", (e) => this.#key(e));
    on("contextmenu", (e) => e.preventDefault());
    on("blur", () => this.#lift());
  }

  // forget ends all that is going on.
  forget() {
    this.#pointers.clear();
    this.#drawing = null;
    this.#keyDown = false;
    this.cross = null;
  }

  // zoom changes the zoom about the middle of what is seen.
  zoom(factor) {
    this.#view.zoomAt(this.#canvas, this.#to.picture(), this.#canvas.width / 2, this.#canvas.height / 2, factor);
    this.#to.changed();
  }

  #down(event) {
    event.preventDefault();
    this.#canvas.focus({ preventScroll: true });
    this.#canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, this.#onCanvas(event));
    this.cross = null;
    if (this.#pointers.size > 1 || event.button === 1) { // a second finger: not drawing after all
      if (this.#drawing !== null) this.#to.cancel();
      this.#drawing = null;
    } else if (event.button === 0) {
      this.#drawing = event.pointerId;
      this.#to.down(this.#inPicture(event), this.near(), event.shiftKey);
    }
    this.#to.changed();
  }

  #move(event) {
    if (event.pointerId === this.#drawing) {
      const events = event.getCoalescedEvents?.() ?? [];
      for (const e of events.length > 0 ? events : [event]) this.#to.move(this.#inPicture(e), false);
    } else if (this.#pointers.has(event.pointerId)) {
      this.#drag(event.pointerId, this.#onCanvas(event));
    } else {
      this.#to.move(this.#inPicture(event), true);
    }
    if (this.#pointers.has(event.pointerId)) this.#pointers.set(event.pointerId, this.#onCanvas(event));
    this.#to.changed();
  }

  // #drag moves the picture with one pointer, and zooms with two.
  #drag(id, to) {
    const from = this.#pointers.get(id);
    const picture = this.#to.picture();
    const other = [...this.#pointers].find(([key]) => key !== id)?.[1];
    if (!other) return this.#view.pan(this.#canvas, picture, to.x - from.x, to.y - from.y);
    const way = (a) => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y));
    this.#view.pan(this.#canvas, picture, (to.x - from.x) / 2, (to.y - from.y) / 2);
    this.#view.zoomAt(this.#canvas, picture, (to.x + other.x) / 2, (to.y + other.y) / 2, way(to) / way(from));
  }

  #up(event) {
    this.#pointers.delete(event.pointerId);
    if (event.pointerId === this.#drawing) {
      this.#drawing = null;
      this.#to.up();
    }
    this.#to.changed();
  }

  #lost(event) {
    this.#pointers.delete(event.pointerId);
    if (event.pointerId === this.#drawing) {
      this.#drawing = null;
      this.#to.cancel();
    }
    this.#to.changed();
  }

  #wheel(event) {
    event.preventDefault();
    const { x, y } = this.#onCanvas(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.#view.zoomAt(this.#canvas, this.#to.picture(), x, y, Math.exp(-event.deltaY * lines * wheelStep));
    this.#to.changed();
  }

  #key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    const picture = this.#to.picture();
    this.cross ??= this.#middle(picture);
    if (way) {
      const step = keyStep * this.#ratio() * (event.shiftKey ? 0.25 : 1);
      const { scale, across } = this.#view.place(this.#canvas, picture);
      this.cross = within([this.cross[0] + (way[0] * step) / across, this.cross[1] + (way[1] * step) / scale], picture);
      this.#to.move(this.cross, !this.#keyDown);
    } else if (this.#keyDown) {
      this.#lift();
    } else if (!event.repeat) {
      this.#to.down(this.cross, this.near(), event.shiftKey);
      this.#keyDown = this.#to.drawing(); // a polygon's corner needs no second press
    }
    this.#to.changed();
  }

  #lift() {
    if (!this.#keyDown) return;
    this.#keyDown = false;
    this.#to.up();
  }

  #middle(picture) {
    const { left, top, scale, across } = this.#view.place(this.#canvas, picture);
    return within([(this.#canvas.width / 2 - left) / across, (this.#canvas.height / 2 - top) / scale], picture);
  }

  #ratio() {
    return this.#canvas.width / Math.max(1, this.#canvas.clientWidth);
  }

  // near is how many pixels of the picture count as the same place.
  near() {
    return (sameplace * this.#ratio()) / this.#view.place(this.#canvas, this.#to.picture()).scale;
  }

  #onCanvas(event) {
    const box = this.#canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) * this.#ratio(), y: (event.clientY - box.top) * this.#ratio() };
  }

  #inPicture(event) {
    const { x, y } = this.#onCanvas(event);
    const picture = this.#to.picture();
    const { left, top, scale, across } = this.#view.place(this.#canvas, picture);
    return within([(x - left) / across, (y - top) / scale], picture);
  }
}

// within rounds to a tenth of a pixel and keeps to the picture.
function within([x, y], { width, height }) {
  const keep = (v, most) => Math.min(most, Math.max(0, Math.round(10 * v) / 10));
  return [keep(x, width), keep(y, height)];
}
