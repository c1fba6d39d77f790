#!/usr/bin/python3
"""Plays a stream by WHEP (draft-ietf-wish-whep) with GStreamer's webrtcbin; that of Debian 12 has no whepsrc:

    whep.py URL TOKEN COUNT FILE

It decodes so many pictures and says how large each is, writes the last one to FILE, as raw RGB, and ends the session. The
last line is what segd answers to that, and to ending it once more.
"""
import sys
import urllib.error
import urllib.parse
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC

url, token, left, file = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
Gst.init(None)
loop = GLib.MainLoop()
faults = []
session = None


def ask(method, where, body=None):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/sdp"}
    try:
        return urllib.request.urlopen(urllib.request.Request(where, body, headers, method=method))
    except urllib.error.HTTPError as answer:
        return answer


def end(fault=None):
    if fault:
        faults.append(fault)
    loop.quit()


def negotiate(webrtc):
    webrtc.emit("create-offer", None, Gst.Promise.new_with_change_func(offered, webrtc))


def offered(promise, webrtc):
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    webrtc.emit("set-local-description", offer, Gst.Promise.new())


def gathered(webrtc, _):
    if webrtc.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
        GLib.idle_add(post, webrtc)


def post(webrtc):
    global session
    offer = webrtc.get_property("local-description")
    answer = ask("POST", url, offer.sdp.as_text().encode())
    text = answer.read().decode()
    if answer.status != 201:
        return end("%d %s" % (answer.status, text))
    session = urllib.parse.urljoin(url, answer.headers["Location"])
    _, sdp = GstSdp.SDPMessage.new_from_text(text)
    given = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, sdp)
    webrtc.emit("set-remote-description", given, Gst.Promise.new())


def play(_, pad):
    tail = Gst.parse_bin_from_description(
        "rtph264depay ! h264parse ! openh264dec ! videoconvert ! video/x-raw,format=RGB ! fakesink name=out signal-handoffs=true", True
    )
    tail.get_by_name("out").connect("handoff", picture)
    pipeline.add(tail)
    tail.sync_state_with_parent()
    pad.link(tail.sinkpads[0])


def picture(_, buffer, pad):
    global left
    left -= 1
    if left < 0:
        return
    caps = pad.get_current_caps().get_structure(0)
    print("%dx%d" % (caps.get_value("width"), caps.get_value("height")), flush=True)
    if left == 0:
        with open(file, "wb") as out:
            out.write(buffer.extract_dup(0, buffer.get_size()))
        GLib.idle_add(end)


pipeline = Gst.Pipeline()
webrtc = Gst.ElementFactory.make("webrtcbin")
webrtc.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
webrtc.set_property("latency", 0)
pipeline.add(webrtc)
webrtc.connect("on-negotiation-needed", negotiate)
webrtc.connect("notify::ice-gathering-state", gathered)
webrtc.connect("pad-added", play)
caps = Gst.Caps.from_string("application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,packetization-mode=(string)1")
webrtc.emit("add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY, caps)
bus = pipeline.get_bus()
bus.add_signal_watch()
bus.connect("message::error", lambda _, message: end("%s (%s)" % message.parse_error()))
pipeline.set_state(Gst.State.PLAYING)
loop.run()
if session:
    print("ended: %d, then %d" % (ask("DELETE", session).status, ask("DELETE", session).status))
pipeline.set_state(Gst.State.NULL)
if faults:
    sys.exit("\n".join(faults))
