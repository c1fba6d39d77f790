"""What a NATS server denies its user at SEGD_CLIENT_NATS, who may subscribe and no more. make examples-test runs it."""

import os
import unittest

import segd


class Denied(unittest.IsolatedAsyncioTestCase):
    async def test_requests(self):
        async with segd.connect(os.environ["SEGD_CLIENT_NATS"], timeout=600) as client:  # it does not wait that long
            for request in client.objects("Gate"), client.clear("Gate"), client.annotate("Gate", {}):
                with self.assertRaises(segd.NotPermitted), self.assertLogs("segd", "WARNING"):
                    await request


if __name__ == "__main__":
    unittest.main()
