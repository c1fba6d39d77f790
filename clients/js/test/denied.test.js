// What a NATS server denies its user at SEGD_CLIENT_NATS, who may subscribe and no more. make examples-test runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, NotPermitted } from "segd";

test("requests", async () => {
  const segd = await connect(process.env.SEGD_CLIENT_NATS, { timeout: 600000 }); // it does not wait that long
  for (const request of [segd.objects("Gate"), segd.clear("Gate"), segd.annotate("Gate", {})]) await assert.rejects(request, NotPermitted);
  await segd.close();
});
