#!/usr/bin/python3
"""Publishes test pictures to the WHIP endpoint that is given, by aiortc:

    publish.py URL TOKEN VP8|H264

until it is terminated; then it ends the session.
"""
import asyncio
import signal
import sys
import urllib.parse
import urllib.request

from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.contrib.media import MediaPlayer


def ask(method, url, token, body=None):
    request = urllib.request.Request(url, data=body, method=method)
    request.add_header("Authorization", "Bearer " + token)
    if body:
        request.add_header("Content-Type", "application/sdp")
    with urllib.request.urlopen(request) as answer:
        return answer.headers.get("Location"), answer.read().decode()


async def publish(url, token, codec):
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    pc = RTCPeerConnection()
    player = MediaPlayer("testsrc2=size=640x480:rate=25", format="lavfi")
    sender = pc.addTransceiver(player.video, direction="sendonly")
    codecs = RTCRtpSender.getCapabilities("video").codecs
    sender.setCodecPreferences([c for c in codecs if c.mimeType == "video/" + codec])
    await pc.setLocalDescription(await pc.createOffer())
    location, answer = await asyncio.to_thread(ask, "POST", url, token, pc.localDescription.sdp.encode())
    await pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    await stop.wait()
    await asyncio.to_thread(ask, "DELETE", urllib.parse.urljoin(url, location), token)
    await pc.close()


asyncio.run(publish(*sys.argv[1:]))
