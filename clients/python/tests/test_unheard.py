"""What a NATS server denies its user at SEGD_CLIENT_NATS, who may not hear a camera. make examples-test runs it."""

import os
import unittest

import segd


class Unheard(unittest.IsolatedAsyncioTestCase):
    async def test_subscriptions(self):
        async with segd.connect(os.environ["SEGD_CLIENT_NATS"]) as client:
            for messages in client.masks("Gate"), client.events("Gate"), client.status("Gate"):
                with self.assertRaises(segd.NotPermitted), self.assertLogs("segd", "WARNING"):
                    await anext(messages)

    async def test_errors_are_told(self):
        told = []

        async def tell(err):
            told.append(err)

        async with segd.connect(os.environ["SEGD_CLIENT_NATS"], error_cb=tell) as client:
            with self.assertRaises(segd.NotPermitted), self.assertNoLogs("segd", "WARNING"):
                await anext(client.masks("Gate"))
        self.assertTrue(told)


if __name__ == "__main__":
    unittest.main()
