// Marking objects on a frozen frame: what is drawn, what segd would make of it, and
// sending it off.
import * as api from "./api.js";
import { toPolygon } from "./bitmap.js";
import { drawInk } from "./ink.js";
import { percent } from "./format.js";
import { nameOf, toObjects, warning } from "./message.js";
import { toPath } from "./outline.js";
import { Pen } from "./pen.js";
import { Pointer } from "./pointer.js";
import { Sketch } from "./sketch.js";
import { Things, toMark } from "./things.js";
import { Truth, truthTools } from "./truth.js";

const renewEvery = 60000; // ms between words to segd that the frame is still wanted
const previewAfter = 150; // ms: strokes that follow each other closely are asked about once
const busyAfter = 300; // ms until segd is asked again when others keep it busy
const mostAnswers = 20; // previews of a frame that are kept, for undo and redo
const mostId = 255;
const thin = 1 / 77; // of the picture's longer side: the brush to begin with
const thick = 1 / 12;

export class Marking {
  active = false;
  sketch = null;
  target = 0; // object that is drawn
  preview = null; // what segd would make of it: { objects }, or null
  state = "none"; // of the preview: none | pending | ready | failed
  fault = null; // the Problem of the last preview or acceptance
  sending = false;
  asked = false; // whether to throw marks away
  #feed = null;
  #frame = null;
  #stage;
  #changed;
  #toast;
  #renew = 0;
  #soon = 0;
  #request = null;
  #answers = new Map(); // previews of this frame, by the annotation, the latest last
  #looking = null; // the request for what there is in the frame
  #things = null; // its answer
  #at = null; // where the pointer or the cross is, in pixels of the picture
  #drawn = 0;

  // changed() is called whenever the controls have to be brought up to date.
  constructor({ stage, toast, changed }) {
    this.#stage = stage;
    this.#toast = toast;
    this.#changed = changed;
    this.pen = new Pen({ begin: (tool) => this.#begin(tool), finish: (mark) => this.#add(mark) });
    this.pointer = new Pointer(stage.canvas, stage.view, {
      picture: () => (this.active ? this.#frame.mask : null),
      drawing: () => this.pen.drawing && this.pen.tool !== "polygon",
      down: (p, near, shift) => !this.sending && this.pen.down(p, near, shift && !this.judging ? this.#opposite(p) : this.pen.tool),
      move: (p, hovering) => {
        this.#at = p;
        this.pen.move(p, hovering);
      },
      leave: () => (this.#at = null),
      up: () => this.pen.up(),
      cancel: () => this.pen.cancel(),
      changed: () => this.#redraw(),
    });
  }

  get camera() { return this.#feed?.camera; }
  get frame() { return this.#frame; }
  get colours() { return this.#feed.colours; }

  // judging tells whether what is drawn is compared with the masks, and not followed.
  get judging() { return this.sketch instanceof Truth; }

  // takes tells whether a click marks what it is on: nothing is said of the object yet.
  get takes() {
    const chosen = this.judging ? this.pen.tool === "paint" : this.pen.tool === "object" && !this.known(this.target);
    return this.#things?.any && chosen && !this.sending && !this.sketch.marked().includes(this.target);
  }

  // hovered is the thing that a click would mark, or null.
  get hovered() {
    return this.takes && !this.pen.drawing && this.#at ? this.#things.at(this.#at, this.pointer.near()) : null;
  }

  get thickest() { return Math.round(Math.max(this.sketch.width, this.sketch.height) * thick); }

  // start freezes the frame that is seen; id is the object to correct, 0 a new one.
  start(id = 0) {
    const feed = this.#stage.feed;
    if (this.active || !feed?.frame?.whole) return;
    this.#toast.hide();
    this.#feed = feed;
    this.#frame = feed.keep();
    const { sequence, width, height } = this.#frame.mask;
    this.sketch = new Sketch({ sequence: Number(sequence), width, height });
    this.pen.width = Math.min(this.thickest, this.pen.width || Math.round(Math.max(width, height) * thin));
    this.active = true;
    this.sending = this.asked = false;
    this.fault = null;
    this.target = id || this.#freeId();
    if (!id) this.pen.choose("object");
    this.#stage.freeze(this);
    this.#setPreview("none");
    this.#hold();
    this.#look();
    this.#renew = setInterval(() => this.#hold(), renewEvery);
  }

  // judge begins to judge the masks of the frozen frame, or to mark again, as long as nothing is drawn.
  judge() {
    if (this.sending || this.sketch.canUndo) return;
    const known = this.#frame.mask.objects ?? [];
    this.sketch = this.judging ? new Sketch(this.sketch) : new Truth(this.sketch, known.map((o) => o.id));
    this.fault = null;
    this.pen.choose(this.judging ? "paint" : "object");
    const first = this.judging && (known.find((o) => o.counts && o.area > 0) ?? known[0]);
    this.choose(first ? first.id : 0);
  }

  // sayTruth says of the object that its mask is right as it is, or that it is not there.
  sayTruth(right) {
    const known = this.known(this.target);
    if (!this.judging || !known || this.sending) return;
    this.pen.cancel();
    this.#add({ kind: "mask", id: this.target, base: right ? known.counts : "" });
  }

  // cancel leaves without sending; with marks it has to be asked twice.
  cancel() {
    if (this.pen.back()) return this.#redraw();
    if (this.sketch.canUndo && !this.asked) {
      this.asked = true;
      return this.#changed();
    }
    this.#leave(true);
  }

  // leave ends marking, whatever was drawn.
  leave() {
    if (this.active) this.#leave(true);
  }

  // follow heeds a newer frame of a camera. Under another epoch, as on another box, frames have other numbers: what is
  // drawn would be taken for marks on another picture.
  follow(feed) {
    if (!this.active || feed !== this.#feed || feed.frame.mask.epoch === this.#frame.mask.epoch) return;
    this.#leave(false);
    this.#toast.show("The camera has begun anew, maybe on another box, and that picture is no longer kept. Freeze a newer one.", { fault: true });
  }

  // letGo is called when the page is being left.
  letGo() {
    if (this.active) api.letGo(this.camera, this.sketch.sequence);
  }

  choose(id) {
    this.pen.cancel();
    this.target = id || this.#freeId();
    this.#redraw();
    this.#changed();
  }

  setTool(tool) {
    if (this.judging && !truthTools.includes(tool)) return;
    this.pen.choose(tool);
    this.#redraw();
    this.#changed();
  }

  setWidth(width) {
    this.pen.width = Math.min(this.thickest, Math.max(2, width));
    this.#changed();
  }

  setName(text) {
    const name = text.trim();
    if (name && name !== this.known(this.target)?.label) this.sketch.names.set(this.target, name);
    else this.sketch.names.delete(this.target);
    this.#redraw();
  }

  undo() {
    if (this.pen.back()) return this.#redraw();
    this.sketch.undo();
    this.#marksChanged();
  }

  redo() {
    this.sketch.redo();
    this.#marksChanged();
  }

  closeShape() {
    this.pen.close();
    this.#redraw();
  }

  // known returns an object as it is on the frozen frame.
  known(id) {
    return this.#frame?.mask.objects?.find((o) => o.id === id);
  }

  // ids lists the objects that can be drawn: those of the frame and new ones.
  ids() {
    const known = (this.#frame.mask.objects ?? []).map((o) => o.id);
    return [...new Set([...known, ...this.sketch.marked(), this.target])];
  }

  nameOf(id) {
    return this.sketch.names.get(id) ?? (this.known(id)?.label || "");
  }

  // objects are what the stage draws: those of the frame, and in place of them what
  // the preview says.
  objects() {
    const previewed = (this.preview?.objects ?? []).map((o) => ({ ...o, label: this.nameOf(o.id) || o.label }));
    const ids = new Set(previewed.map((o) => o.id));
    return [...this.#frame.objects.filter((o) => !ids.has(o.id)), ...previewed];
  }

  ink(ctx, place, ratio) {
    drawInk(ctx, { sketch: this.sketch, draft: this.pen.draft, cross: this.pointer.cross, tool: this.pen.tool, hovered: this.hovered, target: this.target, colours: this.#feed.colours }, place, ratio);
  }

  // accept sends the annotation off and goes back to the live picture.
  async accept() {
    if (this.sending || !this.sketch.says) return;
    this.sending = true;
    this.fault = null;
    clearTimeout(this.#soon);
    this.#changed();
    try {
      if (this.judging) return await this.#compare();
      await this.#renumber();
      const annotation = this.sketch.annotation();
      const { objects, warnings } = await api.annotate(this.camera, annotation);
      const { camera, sketch } = this;
      const back = this.#wayBack(annotation);
      this.#leave(false);
      this.#toast.show(`${described(annotation, (id) => sketch.names.get(id) ?? back.nameOf(id))} on frame ${sketch.sequence}.`, {
        undo: back.undo, gone: () => api.letGo(camera, sketch.sequence),
      });
      // An event says so as well, before or after this.
      for (const w of warnings) this.#toast.warn(warning(objects.find((o) => o.id === w.id).label || `Object ${w.id}`, w.message));
    } catch (problem) {
      this.sending = false;
      this.fault = problem;
      this.#changed();
    }
  }

  // #compare sends the truth off, tells how the masks agree with it and goes back to the live picture.
  async #compare() {
    const records = await api.judge(this.camera, this.sketch.annotation());
    this.#leave(true);
    const told = records.map((r) => `${r.id ? nameOf(r) : r.label || "object"}: J ${r.j.toFixed(2)}, ${percent(r.missed, 1)} missed, ${percent(r.false, 1)} false`);
    this.#toast.show(`${told.join("; ")}.`);
  }

  // #wayBack undoes an annotation: new objects are removed, others get the masks that
  // they had on the frozen frame.
  #wayBack(annotation) {
    const { camera } = this;
    const before = this.#frame.mask.objects ?? [];
    const fresh = annotation.objects.filter((o) => !this.known(o.id)).map((o) => o.id);
    // What segd marks automatically it mends by itself.
    const touched = annotation.background ? before.filter((b) => !b.automatic || annotation.objects.some((o) => o.id === b.id)) : before.filter((b) => annotation.objects.some((o) => o.id === b.id));
    const objects = touched.map((o) => restored(o, annotation)).filter(Boolean);
    return {
      nameOf: (id) => before.find((o) => o.id === id)?.label || `Object ${id}`,
      undo: async () => {
        for (const id of fresh) await api.remove(camera, id);
        if (objects.length > 0) {
          const { frame, width, height } = annotation;
          await api.annotate(camera, { frame, width, height, objects });
        }
        return "Undone.";
      },
    };
  }

  // #renumber gives new objects other numbers if somebody else has used theirs since.
  async #renumber() {
    const taken = new Set((await api.objects(this.camera)).map((o) => o.id));
    for (const id of this.sketch.marked()) {
      if (this.known(id) || !taken.has(id)) continue;
      const free = this.#freeId(taken);
      this.sketch.renumber(id, free);
      if (this.target === id) this.target = free;
    }
  }

  #freeId(taken = new Set()) {
    const used = new Set([...taken, ...this.sketch.marked(), ...(this.#frame.mask.objects ?? []).map((o) => o.id)]);
    for (let id = 1; id <= mostId; id++) if (!used.has(id)) return id;
    return mostId;
  }

  #begin(tool) {
    if (tool === "background") return { id: 0 };
    const paints = tool === "paint" || tool === "erase";
    const seen = this.objects().find((o) => o.id === this.target);
    return { id: this.target, ...(paints && { base: seen?.counts ?? "" }) };
  }

  #add(mark) {
    const thing = mark.points && this.#clicked(mark);
    if (this.judging) this.sketch.add(thing ? { kind: "mask", id: mark.id, base: thing.counts } : mark);
    else this.sketch.add(thing ? toMark(thing, mark.id) : mark);
    this.#marksChanged(thing);
  }

  // #opposite is the stroke that changes what a point of the picture belongs to: off the object, or on it.
  #opposite([x, y]) {
    const shown = this.objects().find((o) => o.id === this.target);
    return shown?.path && this.#stage.inside(shown.path, x, y) ? "background" : "object";
  }

  // #clicked returns the thing that a stroke marks, which is a click: it stays in its place; or null.
  #clicked({ points: [p, ...way] }) {
    const near = this.pointer.near();
    if (!this.takes || way.some(([x, y]) => Math.hypot(x - p[0], y - p[1]) > near)) return null;
    return this.#things.at(p, near);
  }

  // #marksChanged asks what the marks make. Of a thing that was just marked its outline is shown until then.
  #marksChanged(thing = null) {
    this.asked = false;
    this.fault = null;
    clearTimeout(this.#soon);
    this.#request?.abort();
    this.#request = null;
    if (this.judging || !this.sketch.says) {
      this.#setPreview("none");
      return;
    }
    const answer = this.#answers.get(JSON.stringify(this.sketch.annotation()));
    if (answer) {
      this.#setPreview("ready", answer);
      return;
    }
    const shown = thing && { objects: [...(this.preview?.objects ?? []), { ...thing, id: this.target, label: this.nameOf(this.target) || `Object ${this.target}`, preview: true }] };
    this.#setPreview("pending", shown ?? this.preview);
    this.#soon = setTimeout(() => this.#ask(), thing ? 0 : previewAfter);
  }

  async #ask() {
    const request = new AbortController();
    this.#request = request;
    const current = () => this.#request === request;
    const annotation = this.sketch.annotation();
    try {
      const { objects, width, height } = await api.preview(this.camera, annotation, request.signal);
      if (!current()) return;
      const answer = { objects: toObjects({ objects, width, height }).map((o) => ({ ...o, preview: true, path: toPath(o.loops) })) };
      this.#answers.set(JSON.stringify(annotation), answer);
      if (this.#answers.size > mostAnswers) this.#answers.delete(this.#answers.keys().next().value);
      this.#setPreview("ready", answer);
    } catch (problem) {
      if (!current()) return;
      if (problem.busy) {
        this.#soon = setTimeout(() => this.#ask(), busyAfter);
        return;
      }
      this.fault = problem;
      this.#setPreview("failed");
    }
  }

  // #look asks what there is in the frame. Without an answer everything can still be drawn.
  async #look() {
    const request = new AbortController();
    this.#looking = request;
    try {
      const things = new Things(await api.things(this.camera, this.sketch.sequence, request.signal));
      if (this.#looking !== request) return;
      this.#things = things;
      this.#redraw();
    } catch (problem) {
      if (this.#looking === request && problem.busy) setTimeout(() => this.#looking === request && this.#look(), busyAfter);
    }
  }

  #setPreview(state, preview = null) {
    this.state = state;
    this.preview = preview;
    this.#redraw();
    this.#changed();
  }

  // #hold asks segd to keep the frame: drawing takes longer than frames are kept.
  async #hold() {
    const { sketch } = this;
    try {
      await api.hold(this.camera, sketch.sequence);
    } catch (problem) {
      if (this.sketch !== sketch || !this.active) return;
      if (problem.status === 404 && !sketch.canUndo) {
        this.#leave(false);
        this.#toast.show("That picture is no longer kept, so it cannot be marked. Freeze a newer one.", { fault: true });
        return;
      }
      this.fault = problem;
      this.#changed();
    }
  }

  #redraw() {
    cancelAnimationFrame(this.#drawn);
    this.#drawn = requestAnimationFrame(() => {
      this.#stage.paint();
      if (this.active) this.#changed();
    });
  }

  #leave(letGo) {
    if (letGo) this.letGo();
    clearInterval(this.#renew);
    clearTimeout(this.#soon);
    this.#request?.abort();
    this.#request = null;
    this.#looking?.abort();
    this.#looking = this.#things = this.#at = null;
    this.pen.cancel();
    this.pointer.forget();
    this.active = false;
    this.sending = false;
    this.#feed.throwAway(this.#frame);
    this.#frame = null;
    this.#answers.clear();
    this.preview = null;
    this.#stage.thaw();
    this.#changed();
  }
}

// restored is what gives an object back the mask it had.
function restored(object, annotation) {
  const [{ loops }] = toObjects({ objects: [object], width: annotation.width, height: annotation.height });
  return loops.length > 0 ? { id: object.id, label: object.label, polygon: toPolygon(loops) } : null;
}

function described({ objects }, nameOf) {
  if (objects.length === 0) return "The background was corrected";
  const names = objects.map((o) => o.label || nameOf(o.id));
  return `${names.join(", ")} ${names.length > 1 ? "are" : "is"} marked`;
}
