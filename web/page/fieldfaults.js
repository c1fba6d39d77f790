// What segd finds wrong with a form, each fault beside the field that it is about.
import { element } from "./dom.js";

export class FieldFaults {
  #rest;
  #fields = new Map(); // name → { input, note }

  // fields are elements with data-field and an input or select in them; rest is a list
  // that takes what is about none of them.
  constructor(fields, rest) {
    this.#rest = rest;
    for (const field of fields) {
      const input = field.querySelector("input, select");
      const note = element("p", "field-fault");
      note.id = `${input.id}-fault`;
      note.hidden = true;
      field.append(note);
      input.addEventListener("input", () => this.#set({ input, note }, ""));
      this.#fields.set(field.dataset.field, { input, note });
    }
  }

  // show says the faults, { at, detail } each, and brings the first field that has one
  // into sight. Without any it says message.
  show(faults, message) {
    this.clear();
    const rest = [];
    for (const { at, detail } of faults) {
      const field = this.#fields.get(at.replace(/^\//, "").split(/[/.[]/)[0]);
      if (!field || hiddenField(field.input)) rest.push(at ? `${at}: ${detail}` : detail);
      else this.#set(field, [field.note.textContent, sentence(detail)].filter(Boolean).join(" "));
    }
    if (faults.length === 0) rest.push(message);
    this.#rest.hidden = rest.length === 0;
    this.#rest.replaceChildren(...rest.map((text) => element("li", "", sentence(text))));
    const faulty = [...this.#fields.values()].filter(({ note }) => !note.hidden).map(({ input }) => input);
    for (const input of faulty) input.closest("details")?.setAttribute("open", "");
    faulty[0]?.focus();
  }

  clear() {
    for (const field of this.#fields.values()) this.#set(field, "");
    this.#rest.hidden = true;
  }

  #set({ input, note }, text) {
    note.textContent = text;
    note.hidden = text === "";
    input.toggleAttribute("aria-invalid", false);
    input.removeAttribute("aria-describedby");
    if (!text) return;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", note.id);
  }
}

const hiddenField = (input) => input.closest("[hidden]") !== null;

// sentence begins with a capital, unless with a URL or the like.
export function sentence(text) {
  return text.replace(/^fleet: /, "").replace(/^[a-z](?=[a-z]* )/, (c) => c.toUpperCase());
}
