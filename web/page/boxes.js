// The boxes of a fleet: what each does, and what can be done with them and their cameras.
import * as api from "./api.js";
import { BoxDialog } from "./boxdialog.js";
import { element, setText } from "./dom.js";
import { cameraCount, labelsOf, origin, stateOf } from "./fleet.js";
import { sentence } from "./fieldfaults.js";
import { percent, rate } from "./format.js";

const lookEvery = 2000; // ms, while the panel is open
const unmeasured = 1; // frames a second, which a box tells as long as it does not know what it can do
const did = { cordon: "takes no more cameras", drain: "gives its cameras away", uncordon: "takes cameras again" };

export class Boxes {
  fleet = null; // as the API tells; null: there is none, or nothing is known of it yet
  #parts;
  #dialog;
  #toast;
  #changed;
  #box = ""; // the one this page is of; empty: there is no fleet
  #looks = 0;
  #cards = new Map(); // box → its elements
  #unplaced = new Map(); // camera that no box runs → its elements

  // parts: section, panel, summary, sum, fault, list, unplaced, unplacedList, key, and those of the dialog.
  // changed() is called when something else is known of the fleet.
  constructor(parts, dialogParts, { toast, changed }) {
    this.#parts = parts;
    this.#dialog = new BoxDialog(dialogParts);
    this.#toast = toast;
    this.#changed = changed;
    parts.panel.addEventListener("toggle", () => parts.panel.open && this.look());
    setInterval(() => parts.panel.open && !document.hidden && this.look(), lookEvery);
  }

  get section() { return this.#parts.section; }

  // open tells whether the dialog is.
  get open() { return this.#dialog.open; }

  // arrange heeds a list of cameras of the API's, and asks about the fleet if there is one.
  async arrange({ box = "" }) {
    this.#box = box;
    const is = box !== "";
    this.#parts.section.hidden = this.#parts.key.hidden = !is;
    document.body.toggleAttribute("data-fleet", is);
    if (is) await this.look();
    else this.fleet = null;
  }

  // of is what the fleet tells of a camera; null: there is none.
  of(camera) {
    if (!this.fleet) return null;
    return this.fleet.cameras.find((c) => c.name === camera) ?? { name: camera, box: "", fault: "" };
  }

  // elsewhere tells whether another box than this page's runs a camera.
  elsewhere(camera) {
    const box = this.of(camera)?.box;
    return Boolean(box) && box !== this.#box;
  }

  // show opens the panel, or closes it.
  show() {
    const p = this.#parts;
    if (p.section.hidden || p.section.inert) return;
    p.panel.open = !p.panel.open;
    p.summary.focus({ preventScroll: true });
    p.section.scrollIntoView({ block: "nearest" });
  }

  // look asks segd anew. A later look counts.
  async look() {
    if (!this.#box) return;
    const look = ++this.#looks;
    try {
      const { boxes, cameras } = await api.fleet();
      if (look !== this.#looks) return;
      this.fleet = { boxes: boxes ?? [], cameras: cameras ?? [] };
      this.#tell("");
      this.#arrange();
      this.#changed();
    } catch (problem) {
      if (look === this.#looks) this.#tell(`What the boxes do is not known now: ${problem.message}`);
    }
  }

  #tell(text) {
    this.#parts.fault.hidden = text === "";
    setText(this.#parts.fault, text);
  }

  #arrange() {
    const p = this.#parts;
    const { boxes, cameras } = this.fleet;
    const alive = boxes.filter((b) => b.alive);
    const nowhere = cameras.filter((c) => !c.box);
    setText(p.sum, [`${alive.length} of ${boxes.length} run`, cameraCount(cameras.length), nowhere.length > 0 && `${nowhere.length} run by no box`].filter(Boolean).join(", "));
    const ordered = [...alive, ...boxes.filter((b) => !b.alive)];
    keep(p.list, this.#cards, ordered, (box) => this.#makeCard(box.name));
    for (const box of ordered) this.#showCard(this.#cards.get(box.name), box, cameras.filter((c) => c.box === box.name));
    p.unplaced.hidden = nowhere.length === 0;
    keep(p.unplacedList, this.#unplaced, nowhere, (camera) => makeCamera(camera.name));
    for (const camera of nowhere) showCamera(this.#unplaced.get(camera.name), camera);
  }

  #makeCard(name) {
    const card = {
      item: element("li", "box"), name: element("span", "box-name", name), link: element("a", "box-name", name), own: element("span", "muted box-own", "this page's"),
      state: element("span", "pill"), load: element("div", "load"), part: element("div", "load-part"), loadText: element("span", "number"),
      count: element("span", "number muted"), labels: element("p", "box-labels"), about: element("p", "muted box-about"),
      figures: element("p", "box-figures"), cameras: element("ul", "box-cameras"), rows: new Map(), actions: element("div", "box-actions operator-only"), fault: element("p", "field-fault"), busy: false,
    };
    card.item.dataset.box = name;
    card.link.title = `The page of box ${name}`;
    card.load.setAttribute("role", "meter");
    card.load.setAttribute("aria-label", `Load of box ${name}`);
    card.load.append(card.part);
    card.cameras.setAttribute("aria-label", `Cameras of box ${name}`);
    card.fault.setAttribute("role", "alert");
    card.fault.hidden = true;
    card.buttons = {
      cordon: button("Cordon", `Cordon box ${name}: it takes no more cameras`, () => this.#order(card, name, "cordon")),
      uncordon: button("Uncordon", `Uncordon box ${name}: it takes cameras again`, () => this.#order(card, name, "uncordon")),
      drain: button("Drain", `Drain box ${name}: it gives its cameras away and takes no more`, () => this.#askDrain(name)),
    };
    for (const [order, b] of Object.entries(card.buttons)) b.dataset.order = order;
    card.actions.append(...Object.values(card.buttons));
    const head = element("div", "box-head");
    head.append(card.name, card.link, card.own, card.state);
    card.figures.append(card.loadText, card.count);
    card.item.append(head, card.load, card.figures, card.labels, card.about, card.cameras, card.fault, card.actions);
    return card;
  }

  #showCard(card, box, cameras) {
    const state = stateOf(box);
    card.item.dataset.state = card.state.dataset.state = state.kind;
    setText(card.state, state.word);
    card.state.title = state.kind === "silent" ? `Box ${box.by} noticed it` : "";
    const linked = box.alive && /^https?:/i.test(box.page ?? "") && box.name !== this.#box;
    card.name.hidden = linked;
    card.link.hidden = !linked;
    if (linked && card.link.getAttribute("href") !== box.page) card.link.href = box.page;
    card.own.hidden = box.name !== this.#box;
    showLoad(card, box);
    card.figures.hidden = !box.alive;
    setText(card.count, cameraCount(box.cameras, box.max_cameras));
    card.labels.hidden = !box.labels;
    const labels = labelsOf(box.labels);
    if (card.labels.textContent !== labels.join("")) card.labels.replaceChildren(...labels.map((l) => element("span", "box-label", l)));
    setText(card.about, [box.host, box.version && `segd ${box.version}`, !box.alive && (box.drained ? "drained" : box.cordoned && "cordoned")].filter(Boolean).join(", "));
    const movable = this.fleet.boxes.some((b) => b.alive && b.name !== box.name);
    card.cameras.hidden = cameras.length === 0;
    keep(card.cameras, card.rows, cameras, ({ name }) => makeCamera(name, button("Move", `Move camera ${name} to another box`, () => this.#askMove(name))));
    for (const camera of cameras) showCamera(card.rows.get(camera.name), camera, movable);
    const { cordon, drain, uncordon } = card.buttons;
    const focused = Object.values(card.buttons).find((b) => b === document.activeElement);
    cordon.hidden = Boolean(box.cordoned || box.drained);
    drain.hidden = Boolean(box.drained) || !box.alive;
    uncordon.hidden = !cordon.hidden;
    if (focused?.hidden) (cordon.hidden ? uncordon : cordon).focus(); // what was pressed is not there any more
  }

  async #order(card, name, order) {
    if (card.busy) return; // the buttons are not disabled: the pressed one would lose the focus
    card.busy = true;
    card.fault.hidden = true;
    try {
      await api.orderBox(name, order);
      this.#toast.show(`Box ${name} ${did[order]}.`);
    } catch (problem) {
      card.fault.hidden = false;
      setText(card.fault, sentence(problem.message));
    }
    card.busy = false;
    await this.look();
  }

  #askDrain(name) {
    const { cameras } = this.fleet.boxes.find((b) => b.name === name);
    const gives = cameras > 0 ? `Its ${cameraCount(cameras)} ${cameras === 1 ? "moves" : "move"} to other boxes that can run ${cameras === 1 ? "it" : "them"}, with what is marked. ` : "";
    this.#dialog.ask({
      title: `Drain ${name}?`, text: `${gives}It takes no more until it is uncordoned, over restarts too.`, verb: "Drain", doing: "Draining…",
      act: async () => {
        await api.orderBox(name, "drain");
        this.#toast.show(`Box ${name} ${did.drain}.`);
        this.look();
      },
    });
  }

  #askMove(name) {
    const { box, requires } = this.of(name);
    const others = this.fleet.boxes.filter((b) => b.alive && b.name !== box);
    if (!box || others.length === 0) return;
    const labels = labelsOf(requires);
    this.#dialog.ask({
      title: `Move ${name}`, text: `Box ${box} runs it now${labels.length > 0 ? `. It requires ${labels.join(", ")}` : ""}.`, verb: "Move", doing: "Moving it…",
      boxes: others.map((b) => [b.name, described(b)]),
      act: async (to) => {
        await api.moveCamera(name, to);
        this.#toast.show(`Box ${to} runs ${name} now.`);
        this.look();
      },
    });
  }
}

// keep has a list show one element for each of these, in order; rows are those there are, by name.
function keep(list, rows, all, make) {
  const names = all.map((one) => one.name);
  for (const [name, row] of rows) {
    if (!names.includes(name)) {
      row.item.remove();
      rows.delete(name);
    }
  }
  for (const [i, one] of all.entries()) {
    if (!rows.has(one.name)) rows.set(one.name, make(one));
    const { item } = rows.get(one.name);
    if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null); // else it would lose the focus
  }
}

function makeCamera(name, move = null) {
  const row = { item: element("li", "box-camera"), fps: element("span", "number muted"), words: element("span", "muted box-camera-words"), move };
  row.item.dataset.camera = name;
  const link = element("a", "box-camera-name", name);
  link.href = `#${encodeURIComponent(name)}`;
  row.item.append(link, row.fps);
  if (move) row.item.append(move);
  row.item.append(row.words);
  return row;
}

function showCamera(row, camera, movable = false) {
  const requires = labelsOf(camera.requires).join(", ");
  setText(row.fps, camera.box && camera.fps > 0 ? `${rate(camera.fps)}/s` : "");
  setText(row.words, [camera.fault, origin(camera), requires && `requires ${requires}`].filter(Boolean).join("; "));
  if (!row.move) return;
  row.move.classList.add("operator-only");
  row.move.hidden = !movable;
}

// showLoad shows how much of what a box can label its cameras send.
function showLoad({ load, part, loadText }, { alive, capacity_fps: capacity, load_fps: now }) {
  const known = alive && capacity > unmeasured;
  load.hidden = !known;
  load.dataset.over = String(known && now > capacity);
  part.style.setProperty("--part", `${known ? Math.min(100, (100 * now) / capacity) : 0}%`);
  const text = known ? `${rate(now)} of ${rate(capacity)} frames/s` : `${rate(now)} frames/s, capacity not known yet`;
  setText(loadText, text);
  load.setAttribute("aria-valuemax", String(known ? capacity : 1));
  load.setAttribute("aria-valuenow", String(known ? Math.min(now, capacity) : 0));
  load.setAttribute("aria-valuetext", text);
}

// described is a box that a camera can be moved to.
function described(box) {
  const { kind, word } = stateOf(box);
  const load = box.capacity_fps > unmeasured ? `${percent(box.load_fps, box.capacity_fps)} loaded` : "";
  return `${box.name}: ${[cameraCount(box.cameras, box.max_cameras), load, kind !== "runs" && word.toLowerCase()].filter(Boolean).join(", ")}`;
}

function button(text, label, press) {
  const b = element("button", "small", text);
  b.type = "button";
  b.setAttribute("aria-label", label);
  b.addEventListener("click", press);
  return b;
}
