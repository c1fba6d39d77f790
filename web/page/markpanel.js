// The controls for marking: tools under the picture, the form beside it.
import { element, setText } from "./dom.js";
import { count, percent } from "./format.js";
import { nameOf } from "./message.js";
import { truthTools } from "./truth.js";

const hints = {
  object: "Draw a few strokes on the object.",
  background: "Draw on what is not the object: right around it, and on things that look like it.",
  box: "Draw a box around all of the object.",
  polygon: "Set corners around the object; the first one again, or Enter, closes it.",
  paint: "Paint what is missing from the mask.",
  erase: "Wipe away what is not the object.",
};

export class MarkPanel {
  #marking;
  #parts;
  #chips = new Map(); // object → its elements
  #named = 0; // object whose name the field shows

  // parts: form, toolbar, title, targets, fresh, name, status, faults, accept, cancel,
  // judge, truths, right, absent, tools, brush, brushSize, brushLabel, undo, redo, close.
  constructor(marking, parts) {
    this.#marking = marking;
    this.#parts = parts;
    for (const b of parts.tools) b.addEventListener("click", () => marking.setTool(b.dataset.tool));
    parts.brush.addEventListener("input", () => marking.setWidth(Number(parts.brush.value)));
    parts.undo.addEventListener("click", () => marking.undo());
    parts.redo.addEventListener("click", () => marking.redo());
    parts.close.addEventListener("click", () => marking.closeShape());
    parts.fresh.addEventListener("click", () => marking.choose(0));
    parts.judge.addEventListener("click", () => marking.judge());
    parts.right.addEventListener("click", () => marking.sayTruth(true));
    parts.absent.addEventListener("click", () => marking.sayTruth(false));
    parts.cancel.addEventListener("click", () => marking.cancel());
    parts.name.addEventListener("input", () => marking.setName(parts.name.value));
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      marking.accept();
    });
  }

  show() {
    const m = this.#marking;
    const p = this.#parts;
    document.body.dataset.mode = m.active ? "marking" : "live";
    document.body.dataset.preview = m.active ? m.state : "none";
    document.body.dataset.judging = String(m.active && m.judging);
    p.form.hidden = p.toolbar.hidden = !m.active;
    if (!m.active) return this.#forget();
    document.body.dataset.frozen = m.sketch.sequence;
    for (const b of p.tools) {
      b.hidden = m.judging && !truthTools.includes(b.dataset.tool);
      b.setAttribute("aria-pressed", String(b.dataset.tool === m.pen.tool));
    }
    const brushes = m.pen.tool !== "box" && m.pen.tool !== "polygon";
    p.brushLabel.hidden = !brushes;
    p.brush.max = String(m.thickest);
    p.brush.value = String(m.pen.width);
    setText(p.brushSize, `${m.pen.width} px`);
    p.close.hidden = !m.pen.canClose;
    p.undo.disabled = !m.sketch.canUndo && !m.pen.drawing;
    p.redo.disabled = !m.sketch.canRedo;
    this.#targets();
    this.#status();
    this.#judge();
    p.accept.disabled = m.sending || !m.sketch.says;
    setText(p.accept, m.sending ? "Sending…" : m.judging ? "Compare" : "Accept");
    p.accept.title = m.judging ? "Compare it with the mask of this frame (Enter)" : "Follow it from this frame on (Enter)";
    setText(p.cancel, m.asked ? "Discard marks" : "Cancel");
  }

  #judge() {
    const m = this.#marking;
    const p = this.#parts;
    const known = m.known(m.target);
    setText(p.judge, m.judging ? "Mark objects" : "Check accuracy");
    p.judge.disabled = m.sending || m.sketch.canUndo;
    p.truths.hidden = !m.judging || !known;
    p.right.disabled = !known?.counts || m.sending;
    p.absent.disabled = m.sending;
    p.name.parentElement.hidden = m.judging && Boolean(known);
    setText(p.fresh, m.judging ? "+ Missing object" : "+ New object");
  }

  #targets() {
    const m = this.#marking;
    const p = this.#parts;
    const ids = m.ids();
    for (const [id, chip] of this.#chips) {
      if (!ids.includes(id)) {
        chip.label.remove();
        this.#chips.delete(id);
      }
    }
    for (const id of ids) {
      if (!this.#chips.has(id)) this.#chips.set(id, this.#makeChip(id));
      const chip = this.#chips.get(id);
      chip.input.checked = id === m.target;
      setText(chip.text, m.nameOf(id) || (m.known(id) ? `Object ${id}` : m.judging ? "Missing object" : `Object ${id} (new)`));
    }
    p.fresh.hidden = !m.known(m.target) && !m.sketch.marked().includes(m.target);
    setText(p.title, m.judging ? "Check accuracy" : m.known(m.target) ? "Correct an object" : "Mark an object");
    p.name.placeholder = m.judging ? "object" : `object ${m.target}`;
    if (this.#named !== m.target) {
      this.#named = m.target;
      p.name.value = m.nameOf(m.target);
    }
  }

  #makeChip(id) {
    const label = element("label", "chip");
    label.style.setProperty("--colour", this.#marking.colours.of(id));
    const input = element("input", "");
    Object.assign(input, { type: "radio", name: "target", value: String(id) });
    input.addEventListener("change", () => this.#marking.choose(id));
    const text = element("span", "chip-text");
    label.append(input, element("span", "swatch"), text);
    this.#parts.targets.insertBefore(label, this.#parts.fresh);
    return { label, input, text };
  }

  #status() {
    const m = this.#marking;
    setText(this.#parts.status, words(m));
    this.#parts.status.dataset.state = m.state;
    const faults = m.fault?.faults.length > 0 ? m.fault.faults.map((f) => `${f.at}: ${f.detail}`) : [m.fault?.message].filter(Boolean);
    const list = this.#parts.faults;
    list.hidden = faults.length === 0;
    if (list.dataset.text === faults.join("\n")) return;
    list.dataset.text = faults.join("\n");
    list.replaceChildren(...[...new Set(faults)].map((text) => element("li", "", text)));
  }

  #forget() {
    for (const chip of this.#chips.values()) chip.label.remove();
    this.#chips.clear();
    this.#named = 0;
  }
}

function words(m) {
  if (m.asked) return "Your marks would be lost. Press again to discard them.";
  if (m.sending) return "Sending…";
  if (m.judging) return truth(m);
  switch (m.state) {
    case "pending":
      return "Looking what that makes…";
    case "failed":
      return "No preview:";
    case "ready":
      return found(m);
  }
  if (m.hovered) return `Click to mark this ${m.hovered.kind}.`;
  return m.takes ? "Click or tap an object, or draw a few strokes on it." : hints[m.pen.tool];
}

function truth(m) {
  if (m.hovered) return `Click if it covers this ${m.hovered.kind}.`;
  const name = (id) => (m.known(id) ? nameOf({ id, label: m.nameOf(id) || "object" }) : m.nameOf(id) || "missing object");
  const said = m.sketch.marked().map((id) => `${name(id)}: ${m.sketch.area(id) > 0 ? `${count(m.sketch.area(id))} px` : "not there"}`);
  if (said.length > 0) return `True: ${said.join("; ")}. Compare it, or go on drawing. No mask changes.`;
  return `Click on ${name(m.target)}, or draw what it truly covers. No mask changes.`;
}

function found(m) {
  const { width, height } = m.frame.mask;
  const marked = m.sketch.marked();
  const objects = m.preview.objects.filter((o) => marked.includes(o.id) || marked.length === 0);
  const nameOf = (o) => m.nameOf(o.id) || `object ${o.id}`;
  const missing = objects.filter((o) => o.area === 0 && marked.includes(o.id));
  if (missing.length > 0) return `Nothing found of ${missing.map(nameOf).join(", ")} yet. Draw more of it, or its outline.`;
  const parts = objects.map((o) => `${nameOf(o)}: ${count(o.area)} px, ${percent(o.area, width * height)}`);
  return `Preview. ${parts.join("; ")}. Accept it, or draw or Shift-click on what is wrong.`;
}
