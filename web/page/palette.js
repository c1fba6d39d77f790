// Colours bright enough to be seen on any picture, and the same in the picture, the list and every tab.
const colours = ["#19c3ff", "#ff9f1c", "#7ee04f", "#ff4f9a", "#b48cff", "#ffe14d", "#ff6b57", "#2ee6c5"];

// Colours gives each object of a camera one of its own, while there are as many.
export class Colours {
  #of = new Map(); // object number → colour, of the objects there are

  // keep gives these objects colours and forgets others. An object has its colour for as long as it is there.
  keep(ids) {
    for (const id of this.#of.keys()) if (!ids.includes(id)) this.#of.delete(id);
    for (const id of ids) if (!this.#of.has(id)) this.#of.set(id, this.#choose(id));
  }

  of(id) { return this.#of.get(id) ?? this.#choose(id); }

  // #choose returns the colour that the fewest have, from the one of the object's number on.
  #choose(id) {
    const uses = (colour) => [...this.#of.values()].filter((c) => c === colour).length;
    const first = (Math.max(1, id) - 1) % colours.length;
    return [...colours.slice(first), ...colours.slice(0, first)].reduce((best, c) => (uses(c) < uses(best) ? c : best));
  }
}
