// The controls for marking: tools under the picture, the form beside it.
import { element, setText } from "./dom.js";
import { count, percent } from "./format.js";

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
  // tools, brush, brushSize, brushLabel, undo, redo, close.
  constructor(marking, parts) {
    this.#marking = marking;
    this.#parts = parts;
    for (const b of parts.tools) b.addEventListener("click", () => marking.setTool(b.dataset.tool));
    parts.brush.addEventListener("input", () => marking.setWidth(Number(parts.brush.value)));
    parts.undo.addEventListener("click", () => marking.undo());
    parts.redo.addEventListener("click", () => marking.redo());
    parts.close.addEventListener("click", () => marking.closeShape());
    parts.fresh.addEventListener("click", () => marking.choose(0));
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
    p.form.hidden = p.toolbar.hidden = !m.active;
    if (!m.active) return this.#forget();
    document.body.dataset.frozen = m.sketch.sequence;
    for (const b of p.tools) b.setAttribute("aria-pressed", String(b.dataset.tool === m.pen.tool));
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
    p.accept.disabled = m.sending || !m.sketch.annotation();
    setText(p.accept, m.sending ? "Sending…" : "Accept");
    setText(p.cancel, m.asked ? "Discard marks" : "Cancel");
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
      setText(chip.text, m.nameOf(id) || (m.known(id) ? `Object ${id}` : `Object ${id} (new)`));
    }
    p.fresh.hidden = !m.known(m.target) && !m.sketch.marked().includes(m.target);
    setText(p.title, m.known(m.target) ? "Correct an object" : "Mark an object");
    p.name.placeholder = `object ${m.target}`;
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
