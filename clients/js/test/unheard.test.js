// What a NATS server denies its user at SEGD_NATS_URL, who may not hear a camera. make clients runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, NotPermitted } from "segd";

test("subscriptions", async () => {
  const segd = await connect(process.env.SEGD_NATS_URL);
  for (const messages of [segd.masks("Gate"), segd.events("Gate"), segd.status("Gate")]) await assert.rejects(messages.next(), NotPermitted);
  await segd.close();
});
