// Keeping, renaming and removing objects, with a way back where there is one.
import * as api from "./api.js";
import { toPolygon } from "./bitmap.js";

const mostId = 255; // that people give

// freeId returns a number that no object of a camera has: one that segd gave is not given again.
async function freeId(camera) {
  const taken = new Set((await api.objects(camera)).map((o) => o.id));
  for (let id = 1; id < mostId; id++) if (!taken.has(id)) return id;
  return mostId;
}

export class Actions {
  #stage;
  #toast;

  constructor({ stage, toast }) {
    this.#stage = stage;
    this.#toast = toast;
  }

  // keep makes an object that segd marked automatically one of people's.
  async keep(id) {
    const { camera, frame } = this.#stage.feed;
    const label = frame?.objects.find((o) => o.id === id)?.label ?? id;
    await this.#try(`${label} could not be kept`, async () => {
      await api.keep(camera, id);
      this.#toast.show(`${label} is kept.`, { undo: null });
    });
  }

  async rename(id, from, to) {
    const { camera } = this.#stage.feed;
    await this.#try(`${from} could not be renamed`, async () => {
      await api.rename(camera, id, to);
      this.#toast.show(`${from} is called ${to} now.`, {
        undo: async () => {
          await api.rename(camera, id, from);
          return `It is called ${from} again.`;
        },
      });
    });
  }

  // remove can be undone while segd keeps the frame on which the object was seen.
  async remove(id) {
    const { camera, frame } = this.#stage.feed;
    const { sequence, width, height } = frame.mask;
    const object = frame.objects.find((o) => o.id === id);
    const seen = object?.loops.length > 0;
    await this.#try(`${object?.label ?? id} could not be removed`, async () => {
      const held = seen && (await api.hold(camera, sequence).then(() => true, () => false));
      await api.remove(camera, id);
      const undo = async () => {
        const polygon = toPolygon(object.loops);
        const back = id <= mostId ? id : await freeId(camera);
        await api.annotate(camera, { frame: Number(sequence), width, height, objects: [{ id: back, label: object.label, polygon }] });
        return `${object.label} is back.`;
      };
      this.#toast.show(`${object.label} is removed.`, { undo: held ? undo : null, gone: () => held && api.letGo(camera, sequence) });
    });
  }

  async #try(failed, act) {
    try {
      await act();
    } catch (problem) {
      this.#toast.show(`${failed}: ${problem.message}`, { fault: true });
    }
  }
}
