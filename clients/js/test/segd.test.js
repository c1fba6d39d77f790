// Subscriptions and requests at the demo of the segd whose NATS server is at SEGD_CLIENT_NATS, which make examples-test starts.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { headers } from "@nats-io/nats-core";
import { connect, EventKind, EventSchema, mask, NotServed, Refused } from "segd";

const camera = "demo";
const timeout = 120000; // ms, which only a hang takes

// until returns the first of the messages that is wanted.
async function until(messages, wanted) {
  for await (const message of messages) if (wanted(message)) return message;
  throw new Error("they have ended");
}

describe("the demo", { timeout }, () => {
  let segd;
  const warnings = [];
  before(async () => (segd = await connect(process.env.SEGD_CLIENT_NATS, { timeout, warn: (text) => warnings.push(text) })));
  after(() => segd.close());

  const refused = (code, request) => assert.rejects(request, (error) => error instanceof Refused && error.code === code);

  test("an object is marked, renamed and removed", { timeout }, async () => {
    const { width, height } = await until(segd.masks(camera), () => true);
    const accepted = until(segd.events(camera), (event) => event.kind === EventKind.ANNOTATION_ACCEPTED);
    let annotated;
    while (!annotated) {
      annotated = await segd.annotate(camera, { width, height, objects: [{ id: 9, label: "bag", box: [300, 300, 400, 400] }] }).catch((error) => {
        if (error.code !== 504) throw error; // no frame in 10 s, on a busy machine
      });
    }
    assert.deepEqual(annotated.objects.map((o) => [o.id, o.label]), [[9, "bag"]]);
    assert.equal(annotated.pending, false);
    const event = await accepted;
    assert.deepEqual([event.camera, event.sequence], [camera, annotated.sequence]);

    const renamed = await segd.rename(camera, 9, "parcel");
    assert.deepEqual([renamed.id, renamed.label], [9, "parcel"]);
    const frame = await until(segd.masks(), (f) => f.objects.some((o) => o.label === "parcel"));
    for (const object of frame.objects) assert.equal(mask(frame, object).reduce((sum, bit) => sum + bit, 0), object.area);
    assert.ok((await segd.objects(camera)).objects.some((o) => o.id === 9));

    await segd.clear(camera, 9);
    assert.ok(!(await segd.objects(camera)).objects.some((o) => o.id === 9));
    await refused(404, segd.clear(camera, 9));
  });

  test("status and pictures", { timeout }, async () => {
    assert.equal((await until(segd.status(), (status) => status.up)).camera, camera);
    assert.equal((await segd.state(camera)).camera, camera);
    for (const overlay of [false, true]) assert.deepEqual([...(await segd.snapshot(camera, overlay)).slice(0, 2)], [0xff, 0xd8]);
  });

  test("what is refused", { timeout }, async () => {
    await refused(400, segd.annotate(camera, { objects: [{ id: 9, box: [1, 2] }] }));
    await refused(400, segd.annotate(camera, Uint8Array.from([...Buffer.from("\x89PNG\r\n\x1a\n", "latin1")])));
    await refused(404, segd.keep(camera, 4242));
    await assert.rejects(segd.state("nowhere"), NotServed);
  });

  test("a camera that is not there is told", { timeout }, async () => {
    const messages = segd.masks("gaet");
    const next = messages.next();
    const told = () => warnings.filter((text) => text.includes("serves camera"));
    while (told().length === 0) await pause(10);
    assert.match(told()[0], /no segd of site home serves camera gaet; served are \(site\/camera\): home\/demo;/);
    next.catch(() => {}); // it ends with the connection
  });

  test("a message that is none is left out", { timeout }, async () => {
    let heard;
    const first = until(segd.events("forged"), () => true).then((event) => (heard = event));
    const of = (type) => {
      const h = headers();
      h.set("Content-Type", type);
      return { headers: h };
    };
    const good = toBinary(EventSchema, create(EventSchema, { camera: "forged", message: "well" }));
    while (!heard) { // it subscribes some time after it has begun
      for (const [payload, options] of [
        [Uint8Array.of(0xff)],
        ["{", of("application/json")],
        [Uint8Array.of(0xff), of("application/json")],
        ["", of("application/x-protobuf; message=segd.v1.Status")],
        [good],
      ]) segd.connection.publish("segd.v1.home.forged.event", payload, options);
      await pause(10);
    }
    assert.equal((await first).message, "well");
    assert.ok(segd.bad >= 4);
    assert.ok(warnings.some((text) => text.includes("segd.v1.home.forged.event")));
  });

  test("what a slow loop misses is counted", { timeout }, async () => {
    const events = segd.events("slow");
    const first = events.next(); // subscribes
    const send = (n) => segd.connection.publish("segd.v1.home.slow.event", toBinary(EventSchema, create(EventSchema, { sequence: BigInt(n) })));
    send(0);
    assert.equal((await first).value.sequence, 0n);
    for (let n = 1; n <= 300; n++) send(n); // of which 256 wait
    while (segd.dropped < 44) await pause(10);
    for (let n = 1; n <= 256; n++) assert.equal((await events.next()).value.sequence, BigInt(n));
    assert.equal(segd.dropped, 44);
    await events.return();
  });

  test("a subscription ends with its connection", { timeout }, async () => {
    const other = await connect(process.env.SEGD_CLIENT_NATS);
    const events = other.events();
    const next = events.next();
    await other.close();
    assert.equal((await next).done, true);
  });
});
