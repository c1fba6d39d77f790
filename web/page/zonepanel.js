// The controls of zones and lines: the list beside the picture, and the form while one is drawn.
import { element, setText } from "./dom.js";
import { counted } from "./zonecounts.js";
import { toYAML } from "./zoneyaml.js";

const titles = { zone: "Draw a zone", line: "Draw a line" };

export class ZoneList {
  #parts;
  #remove;
  #rows = new Map(); // kind and name → its elements

  // parts: list, empty, keep, yaml, copy. remove(kind, name) is asked for by a button.
  constructor(parts, remove) {
    this.#parts = parts;
    this.#remove = remove;
    parts.copy.hidden = !navigator.clipboard; // as over HTTP from another machine
    parts.copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(parts.yaml.value);
      setText(parts.copy, "Copied");
    });
    parts.yaml.addEventListener("focus", () => parts.yaml.select());
  }

  show({ layout, status }) {
    const p = this.#parts;
    const all = counted(layout, status);
    const keys = all.map((z) => `${z.kind} ${z.name}`);
    for (const [key, row] of this.#rows) {
      if (!keys.includes(key)) {
        row.item.remove();
        this.#rows.delete(key);
      }
    }
    for (const [i, z] of all.entries()) {
      if (!this.#rows.has(keys[i])) this.#rows.set(keys[i], this.#makeRow(z));
      const row = this.#rows.get(keys[i]);
      if (p.list.children[i] !== row.item) p.list.insertBefore(row.item, p.list.children[i] ?? null);
      row.item.dataset.busy = String(z.busy);
      setText(row.words, z.words);
    }
    p.empty.hidden = all.length > 0;
    p.keep.hidden = all.length === 0;
    const yaml = toYAML(layout);
    if (p.yaml.value === yaml) return;
    p.yaml.value = yaml;
    setText(p.copy, "Copy");
  }

  #makeRow({ kind, name }) {
    const item = element("li", "zone");
    item.dataset.kind = kind;
    item.dataset.name = name;
    const words = element("span", "number muted zone-words");
    const remove = element("button", "small remove operator-only", "Remove");
    remove.type = "button";
    remove.setAttribute("aria-label", `Remove ${kind} ${name}`);
    remove.addEventListener("click", () => this.#remove(kind, name));
    item.append(element("span", "zone-name", name), remove, words);
    return { item, words };
  }
}

export class ZonePanel {
  #zoning;
  #parts;
  #done = false; // whether the shape was when it was shown last

  // parts: form, title, name, status, faults, turn, save, cancel, close.
  constructor(zoning, parts) {
    this.#zoning = zoning;
    this.#parts = parts;
    parts.name.addEventListener("input", () => zoning.setName(parts.name.value));
    parts.turn.addEventListener("click", () => zoning.turn());
    parts.cancel.addEventListener("click", () => zoning.leave());
    parts.close.addEventListener("click", () => zoning.close());
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      zoning.save();
    });
  }

  show() {
    const z = this.#zoning;
    const p = this.#parts;
    const began = z.active && p.form.hidden;
    document.body.dataset.mode = z.active ? "zoning" : "live";
    p.form.hidden = !z.active;
    p.close.hidden = !z.canClose;
    if (!z.active) return;
    const { kind, done } = z.draft;
    if (began) p.name.value = z.name;
    setText(p.title, titles[kind]);
    setText(p.status, words(z));
    p.turn.hidden = kind !== "line";
    p.turn.disabled = !done || z.sending;
    p.save.disabled = !z.canSave;
    setText(p.save, z.sending ? "Saving…" : "Save");
    this.#faults(z.fault);
    // The name comes next, but nobody is shown a keyboard unasked.
    if (done && !this.#done && !z.sending && matchMedia("(pointer: fine)").matches) p.name.select();
    this.#done = done;
  }

  #faults(fault) {
    const texts = fault?.faults.length > 0 ? fault.faults.map((f) => `${f.at.replace(/^\/\w+\/\d+\//, "")}: ${f.detail}`) : [fault?.message].filter(Boolean);
    const list = this.#parts.faults;
    list.hidden = texts.length === 0;
    if (list.dataset.text === texts.join("\n")) return;
    list.dataset.text = texts.join("\n");
    list.replaceChildren(...texts.map((text) => element("li", "", text)));
  }
}

function words({ draft: { kind, points, done }, sending, fault }) {
  if (sending) return "Saving…";
  if (fault) return "segd does not take it:";
  if (kind === "line") {
    if (done) return "The arrow leads from its side a to b. Save it, or turn it round.";
    return points.length === 0 ? "Click where the line begins." : "Now where it ends.";
  }
  if (done) return "Save it, or take the closing back with Backspace.";
  if (points.length === 0) return "Click the zone's corners, one after the other.";
  if (points.length < 3) return `${points.length} of at least 3 corners. Backspace takes the last one back.`;
  return "Click the first corner again, or press Enter, to close it.";
}
