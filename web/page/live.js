// The live connection to one camera: reconnects for ever, decodes pictures, and
// knows how old what it shows is.
import { parseFrame, toObjects, toRegions } from "./message.js";
import { toPath } from "./outline.js";
import { Colours } from "./palette.js";
import { root } from "./root.js";
import { Timelines } from "./timeline.js";

const inFlight = 2; // frames the server may send before the first is drawn
const firstRetry = 500; // ms
const movedRetry = 200; // ms: who takes the camera is known by then
const movingMost = 10000; // ms until a camera that moves should show something again
const lastRetry = 8000; // ms
const silence = 10000; // ms without any message: the connection is dead, statuses come once a second
const rateWindow = 3000; // ms over which shown frames are counted
const removed = "the camera was removed"; // as segd says it when it closes the connection
const moved = "another box runs the camera"; // likewise
const given = "the camera was removed or paused"; // the status of a camera that a box has let go
const small = "&width=320&fps=2"; // what a tile of the wall needs

// ClockOffset estimates this clock minus the server's: the smallest difference
// seen lately holds the least network delay.
class ClockOffset {
  #samples = [];

  add(ms, now) {
    this.#samples.push({ ms, now });
    while (now - this.#samples[0].now > 30000) this.#samples.shift();
  }

  get() {
    return this.#samples.reduce((least, s) => Math.min(least, s.ms), Infinity);
  }
}

export class Feed {
  size = null; // { width, height } of its pictures, when known before the first
  frame = null; // newest decoded frame: { mask, objects, regions, image, whole (the image is), shownAt, age }
  status = null; // newest Status of the camera
  layout = { zones: [], lines: [] }; // as the API has them
  info = {}; // what the API lists of the camera
  place = null; // what the API tells of the camera in a fleet; null: there is no fleet
  link = "connecting"; // connecting | open | waiting
  retryAt = 0;
  reason = "";
  dropped = 0; // frames this page was too slow for
  shown = 0;
  timelines = new Timelines();
  colours = new Colours();

  #large = false;
  #socket = null;
  #opened = false;
  #retry = firstRetry;
  #timer = 0;
  #watchdog = 0;
  #stopped = true;
  #heard = 0;
  #work = Promise.resolve();
  #times = [];
  #offset = new ClockOffset();
  #kept = null; // a frame that somebody marks
  #movedAt = -Infinity; // when the camera began to move to another box, unless it has shown something since
  #notify;

  // notify(feed, what, event) is called with "frame", "status", "link", "event" or "gone", when
  // the camera is none any more, is about to be another one of the name, or is run by another box.
  constructor(camera, notify) {
    this.camera = camera;
    this.#notify = notify;
  }

  start() {
    if (!this.#stopped || this.info.paused || this.info.fault) return; // those have no pictures
    this.#stopped = false;
    this.#watchdog = setInterval(() => this.#check(), 1000);
    this.#dial();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearInterval(this.#watchdog);
    this.#socket?.close();
    this.#socket = null;
  }

  // setLarge asks for all of the pictures, or for few and small ones. What is shown stays
  // until the first of them.
  setLarge(large) {
    if (this.#large === large) return;
    this.#large = large;
    if (this.#socket?.readyState === WebSocket.OPEN) this.#exchange();
  }

  // #exchange puts another connection in the place of the one there is, one after the
  // other: there may be no room for both.
  #exchange() {
    const old = this.#socket;
    old.onclose = () => this.#socket === old && this.#connect();
    old.close();
  }

  // keep returns the newest frame, whose picture stays until thrown away.
  keep() {
    this.#kept = this.frame;
    return this.#kept;
  }

  throwAway(frame) {
    if (this.frame !== frame) frame.image.close();
    this.#kept = null;
  }

  // rate is the number of frames a second that were shown lately.
  rate(now = performance.now()) {
    this.#times = this.#times.filter((t) => now - t < rateWindow);
    return (this.#times.length * 1000) / rateWindow;
  }

  // quiet is how long (ms) no frame has been shown, or Infinity before the first.
  quiet(now = performance.now()) {
    return this.frame ? now - this.frame.shownAt : Infinity;
  }

  // moving tells whether the camera is on its way to another box: nothing is wrong yet.
  moving(now = performance.now()) {
    return now - this.#movedAt < movingMost;
  }

  #dial() {
    this.#setLink("connecting", this.reason);
    this.#connect();
  }

  #connect() {
    const large = this.#large;
    const url = root(`api/v1/cameras/${encodeURIComponent(this.camera)}/live?window=${inFlight}${large ? "" : small}`);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#opened = false;
    this.#heard = performance.now();
    const current = (handle) => (event) => this.#socket === socket && handle(event);
    socket.onopen = current(() => {
      this.#opened = true;
      this.#setLink("open", "");
      if (large !== this.#large) this.#exchange(); // it was chosen, or left, meanwhile
    });
    socket.onmessage = current((event) => this.#receive(event.data, socket));
    socket.onclose = current((event) => this.#closed(event));
  }

  #closed(event) {
    this.#socket = null;
    if (this.#stopped) return;
    if (!this.#opened) this.#ask();
    // A box that dies says nothing: in a fleet any end may be a move.
    const moves = this.place !== null && this.#opened && event.reason !== removed;
    if (moves) this.#move();
    this.#wait((moves ? movedRetry : this.#retry) * (0.75 + Math.random() / 2));
    if (!this.moving()) this.#retry = Math.min(lastRetry, this.#retry * 2);
    this.#setLink("waiting", event.reason);
    if (event.reason === removed || event.reason === moved) this.#notify(this, "gone");
  }

  #move() {
    if (!this.moving()) this.#movedAt = performance.now();
  }

  #wait(ms) {
    clearTimeout(this.#timer);
    this.retryAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#dial(), ms);
  }

  // #ask learns why there was no connection: a WebSocket hides the answer that refused it.
  async #ask() {
    const response = await fetch(root(`api/v1/cameras/${encodeURIComponent(this.camera)}/live`)).catch(() => null);
    if (response === null) this.#movedAt = -Infinity; // it is this segd that is away
    if (!response?.headers.get("Content-Type")?.startsWith("application/problem+json")) return;
    const { detail } = await response.json();
    if (this.link !== "waiting" || this.#stopped) return;
    const seconds = Number(response.headers.get("Retry-After"));
    if (seconds > 0) this.#wait(1000 * seconds);
    this.#setLink("waiting", detail);
  }

  #check() {
    if (this.#socket && performance.now() - this.#heard > silence) {
      const socket = this.#socket;
      this.#closed({ code: 0, reason: "nothing was heard for 10 s" });
      socket.close();
    }
  }

  #receive(data, socket) {
    this.#heard = performance.now();
    this.#retry = firstRetry;
    if (typeof data === "string") {
      const { status, event } = JSON.parse(data);
      if (this.place && status?.error === given) this.#move(); // the next status is the next box's
      else if (status) this.status = status;
      this.#notify(this, event ? "event" : "status", event);
      return;
    }
    // One after the other, in order; the server sends no third before the first is acknowledged.
    this.#work = this.#work.then(() => this.#show(data, socket)).catch((error) => console.error(error)).then(() => {
      if (socket.readyState === WebSocket.OPEN) socket.send("ack");
    });
  }

  async #show(data, socket) {
    const { header, jpeg } = parseFrame(data);
    const mask = header.frame;
    const image = await createImageBitmap(jpeg);
    const now = performance.now();
    const wall = Date.now();
    this.#offset.add(wall - header.sent, now);
    const objects = toObjects(mask).map((o) => ({ ...o, path: toPath(o.loops) }));
    if (this.frame !== this.#kept) this.frame?.image.close();
    this.timelines.record(objects, now);
    this.colours.keep(objects.map((o) => o.id));
    const whole = image.width === mask.width;
    this.frame = { mask, objects, regions: toRegions(mask), image, whole, shownAt: now, age: wall - this.#offset.get() - Date.parse(mask.captureTime) };
    if (socket === this.#socket && this.status?.up) this.#movedAt = -Infinity; // the camera has arrived
    this.dropped = header.dropped;
    this.shown++;
    this.#times.push(now);
    this.#notify(this, "frame");
  }

  #setLink(link, reason) {
    this.link = link;
    this.reason = reason;
    this.#notify(this, "link");
  }
}
