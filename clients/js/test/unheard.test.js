// What a NATS server denies its user at SEGD_CLIENT_NATS, who may not hear a camera. make examples-test runs it.
import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { connect, NotPermitted } from "segd";

test("subscriptions", async () => {
  const segd = await connect(process.env.SEGD_CLIENT_NATS);
  for (const messages of [segd.masks("Gate"), segd.events("Gate"), segd.status("Gate")]) await assert.rejects(messages.next(), NotPermitted);
  await segd.close();
});

test("a connection that is lost for good", async () => {
  const server = new URL(process.env.SEGD_CLIENT_NATS);
  const sockets = [];
  const proxy = net.createServer((from) => {
    const to = net.connect(Number(server.port), server.hostname);
    for (const socket of [from, to]) sockets.push(socket.on("error", () => {}));
    from.pipe(to).pipe(from);
  });
  await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
  const through = new URL(server);
  through.port = proxy.address().port;
  const segd = await connect(through.href, { maxReconnectAttempts: 1, reconnectTimeWait: 10, ignoreClusterUpdates: true });
  const next = segd.masks("Yard").next();
  await segd.connection.flush();
  proxy.close();
  for (const socket of sockets) socket.destroy();
  await assert.rejects(next);
});
