// The wall: a small live picture of every camera; choosing one makes it large.
import { element, setText } from "./dom.js";
import { draw, fit } from "./draw.js";
import { place } from "./fleet.js";
import { health } from "./health.js";
import { View } from "./view.js";

const paintEvery = 150; // ms: small pictures need no more, and many of them cost
const whole = new View();

export class Wall {
  #tiles = new Map(); // camera → { item, link, canvas, state, box, note, painted }

  constructor({ section, list }) {
    this.section = section;
    this.list = list;
  }

  // arrange makes one tile for each camera, in order.
  arrange(cameras) {
    for (const [camera, tile] of this.#tiles) {
      if (!cameras.includes(camera)) {
        tile.item.remove();
        this.#tiles.delete(camera);
      }
    }
    for (const [i, camera] of cameras.entries()) {
      if (!this.#tiles.has(camera)) this.#tiles.set(camera, makeTile(camera));
      const { item } = this.#tiles.get(camera);
      if (this.list.children[i] !== item) this.list.insertBefore(item, this.list.children[i] ?? null); // else it would lose the focus
    }
    this.section.hidden = cameras.length < 2;
    document.body.toggleAttribute("data-wall", cameras.length > 1);
  }

  select(camera) {
    for (const [name, tile] of this.#tiles) {
      if (name === camera) tile.link.setAttribute("aria-current", "true");
      else tile.link.removeAttribute("aria-current");
    }
  }

  // paint draws a feed's newest frame into its tile.
  paint(feed, masks) {
    const tile = this.#tiles.get(feed.camera);
    const now = performance.now();
    if (!tile || tile.canvas.clientWidth === 0 || now - tile.painted < paintEvery) return; // else it were one pixel while nobody sees it
    tile.painted = now;
    const ratio = fit(tile.canvas);
    draw(tile.canvas, { ...feed.frame, size: feed.frame.mask }, { masks, ratio, view: whole, colours: feed.colours });
  }

  refresh(feed, masks) {
    const tile = this.#tiles.get(feed.camera);
    if (!tile) return;
    if (feed.frame && tile.painted === -Infinity) this.paint(feed, masks); // it came while nobody saw the wall
    const h = health(feed);
    tile.item.dataset.kind = h.kind;
    tile.state.dataset.state = h.behind ? "behind" : h.kind;
    setText(tile.state, h.pill);
    setText(tile.box, place(feed.place));
    setText(tile.note, h.note ?? "");
    tile.link.title = `${h.title} ${h.text}`.trim();
  }
}

function makeTile(camera) {
  const item = element("li", "tile");
  const link = element("a", "tile-link");
  link.href = `#${encodeURIComponent(camera)}`;
  const canvas = element("canvas", "tile-picture");
  canvas.setAttribute("aria-hidden", "true");
  const caption = element("span", "tile-caption");
  const state = element("span", "pill");
  caption.append(element("span", "tile-name", camera), state);
  const box = element("span", "tile-note muted");
  const note = element("span", "tile-note muted");
  link.append(canvas, caption, box, note);
  item.append(link);
  return { item, link, canvas, state, box, note, painted: -Infinity };
}
