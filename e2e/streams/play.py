#!/usr/bin/python3
"""Plays a stream by GStreamer, decodes so many pictures and says how large each is:

    play.py URL COUNT
"""
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)
pipeline = Gst.parse_launch(
    "rtspsrc name=in latency=0 ! rtph264depay ! h264parse ! openh264dec ! fakesink name=out signal-handoffs=true"
)
pipeline.get_by_name("in").set_property("location", sys.argv[1])
left = int(sys.argv[2])


def picture(sink, _, pad):
    global left
    caps = pad.get_current_caps().get_structure(0)
    print("%dx%d" % (caps.get_value("width"), caps.get_value("height")), flush=True)
    left -= 1
    if left == 0:
        pipeline.get_bus().post(Gst.Message.new_eos(sink))


pipeline.get_by_name("out").connect("handoff", picture)
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
if message.type == Gst.MessageType.ERROR:
    sys.exit("%s (%s)" % message.parse_error())
