// The live connection to one camera: reconnects for ever, decodes pictures, and
// knows how old what it shows is.
import { parseFrame, toObjects, toRegions } from "./message.js";
import { toPath } from "./outline.js";
import { Colours } from "./palette.js";
import { root } from "./root.js";
import { Timelines } from "./timeline.js";
import { rtpTime, Video } from "./video.js";

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
const streamed = "&pictures=streamed"; // what video needs: the masks
const startMost = 5000; // ms until video shows something
const lostAfter = 1500; // ms that masks wait for their picture until video counts as lost
const firstVideo = 10000; // ms from video that was lost to the next try
const lastVideo = 600000;
const steadyVideo = 60000; // ms after which video that was lost has worked
const stillMost = 2000; // ms until there should be a JPEG

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
  frame = null; // newest decoded frame: { mask, objects, regions, image, video (that is where it is from), whole (the image is), shownAt, age }
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
  #asked = ""; // of the connection: which pictures
  #wanted = false; // whether video is
  #video = null; // from the first try on
  #plays = false; // it has shown something: the connection is for masks
  #videoAt = 0; // when to try it, and when the try began
  #videoRetry = firstVideo;
  #stilling = null; // what still waits for
  #masks = new Map(); // by RTP time: { header, objects, regions, at }, of frames whose picture has not come, oldest first
  #ahead = null; // { time, image }: a picture whose masks have not come
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
    this.#endVideo();
    this.#socket?.close();
    this.#socket = null;
  }

  // setLarge asks for all of the pictures, or for few and small ones. What is shown stays
  // until the first of them.
  setLarge(large) {
    if (this.#large === large) return;
    this.#large = large;
    this.#videoAt = 0;
    this.#endVideo();
    this.#adapt();
  }

  // setVideo has the pictures come by WHEP where that works, if they are large ones. JPEGs come until then, and again when
  // it works no longer.
  setVideo(wanted) {
    this.#wanted = wanted;
    this.#videoRetry = firstVideo;
    if (!wanted) this.#endVideo();
    if (!this.#video) this.#videoAt = 0;
    this.#adapt();
    this.#checkVideo();
  }

  // still has JPEGs come, which are sharper, and resolves once the frame that is shown is one, to keep it, or, if none
  // comes within 2 s, with the picture that is seen. Who asks meanwhile waits for the same.
  still() {
    return (this.#stilling ??= this.#toJPEG().finally(() => (this.#stilling = null)));
  }

  async #toJPEG() {
    if (!this.frame?.video) return;
    this.#endVideo();
    this.#videoAt = performance.now() + 2 * stillMost;
    this.#adapt();
    const late = performance.now() + stillMost;
    while (this.frame.video && performance.now() < late) await new Promise((done) => setTimeout(done, 10));
  }

  #startVideo() {
    this.#videoAt = performance.now();
    this.#video = new Video(this.camera, (time, image) => this.#picture(time, image), () => this.#loseVideo());
  }

  #endVideo() {
    this.#video?.stop();
    this.#video = null;
    this.#plays = false;
    this.#masks.clear();
    this.#ahead?.image.close();
    this.#ahead = null;
  }

  // #loseVideo goes back to JPEGs, for a while.
  #loseVideo() {
    const now = performance.now();
    if (this.#plays && now - this.#videoAt > steadyVideo) this.#videoRetry = firstVideo;
    this.#endVideo();
    this.#videoAt = now + this.#videoRetry;
    this.#videoRetry = Math.min(lastVideo, 2 * this.#videoRetry);
    this.#adapt();
  }

  // #checkVideo starts video that is wanted, and ends it where it does not work.
  #checkVideo() {
    const now = performance.now();
    if (!this.#video) {
      const live = !this.#stopped && this.link === "open" && this.frame && this.status?.up;
      if (this.#wanted && this.#large && live && !this.#kept && now >= this.#videoAt) this.#startVideo();
      return;
    }
    const [oldest] = this.#masks.values();
    if (this.#plays ? oldest && now - oldest.at > lostAfter : now - this.#videoAt > startMost) this.#loseVideo();
  }

  // #picture is called with each picture of the video.
  #picture(time, image) {
    if (!this.#plays) {
      this.#plays = true;
      this.#adapt(); // the next masks have no JPEG
    }
    this.#ahead?.image.close();
    this.#ahead = { time, image };
    this.#match();
  }

  // #match shows the picture that is there, once its masks are. Those of pictures before it are of no use.
  #match() {
    const { time, image } = this.#ahead ?? {};
    const found = this.#masks.get(time);
    if (!found) return;
    this.#ahead = null;
    for (const earlier of this.#masks.keys()) {
      this.#masks.delete(earlier);
      if (earlier === time) break;
    }
    this.#present(found, image);
  }

  // #adapt asks for other pictures than those that come, if others are needed.
  #adapt() {
    if (this.#socket?.readyState === WebSocket.OPEN && this.#asked !== this.#query()) this.#exchange();
  }

  #query() {
    if (!this.#large) return small;
    return this.#plays ? streamed : "";
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
    this.#asked = this.#query();
    const url = root(`api/v1/cameras/${encodeURIComponent(this.camera)}/live?window=${inFlight}${this.#asked}`);
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
      this.#adapt(); // it was chosen, or left, meanwhile
    });
    socket.onmessage = current((event) => this.#receive(event.data, socket));
    socket.onclose = current((event) => this.#closed(event));
  }

  #closed(event) {
    this.#socket = null;
    if (this.#stopped) return;
    if (this.#video) this.#loseVideo(); // the camera may move, or begin anew, and another segd may not know of video
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
    this.#checkVideo();
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
    const at = performance.now();
    this.#offset.add(Date.now() - header.sent, at);
    const objects = toObjects(header.frame).map((o) => ({ ...o, path: toPath(o.loops) }));
    const masks = { header, objects, regions: toRegions(header.frame), at };
    if (jpeg.size === 0) {
      if (!this.#plays) return; // it was lost meanwhile
      this.#masks.set(rtpTime(header.frame), masks);
      this.#match();
      this.#checkVideo();
    } else {
      const image = await createImageBitmap(jpeg);
      if (this.#asked === streamed && socket === this.#socket) this.#loseVideo(); // the stream hides what we may see
      this.#present(masks, image);
    }
    if (socket === this.#socket && this.status?.up) this.#movedAt = -Infinity; // the camera has arrived
  }

  // #present makes a frame the newest. Its image is an ImageBitmap, of a JPEG, or a VideoFrame, which browsers may not know.
  #present({ header, objects, regions }, image) {
    const mask = header.frame;
    const video = !(image instanceof ImageBitmap);
    const whole = video || image.width === mask.width;
    const now = performance.now();
    if (this.frame !== this.#kept) this.frame?.image.close();
    this.timelines.record(objects, now);
    this.colours.keep(objects.map((o) => o.id));
    this.frame = { mask, objects, regions, image, video, whole, shownAt: now, age: Date.now() - this.#offset.get() - Date.parse(mask.captureTime) };
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
