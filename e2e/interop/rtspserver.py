#!/usr/bin/python3
"""Cameras by GStreamer's RTSP server, on the port of 127.0.0.1 that is given.

A Matroska file of JPEGs may follow; /file shows it once.
"""
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402 (after require_version)

SOURCE = "videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=640,height=480,framerate=25/1 ! "
SOUND = " audiotestsrc is-live=true ! alawenc ! rtppcmapay name=pay1 pt=8"
X264 = "x264enc speed-preset=ultrafast key-int-max=25 "

CAMERAS = {
    "/h264": SOURCE + X264 + "tune=zerolatency ! rtph264pay config-interval=-1 name=pay0 pt=96" + SOUND,
    "/bframes": SOURCE + X264 + "bframes=2 b-adapt=false rc-lookahead=0 ! video/x-h264,profile=main ! rtph264pay name=pay0 pt=96",
    "/vp8": SOURCE + "vp8enc deadline=1 keyframe-max-dist=25 ! rtpvp8pay name=pay0 pt=96",
    "/mjpeg": SOURCE + "jpegenc ! rtpjpegpay name=pay0 pt=26",
    "/wide": "videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=2560,height=1440,framerate=5/1"
    " ! jpegenc ! rtpjpegpay name=pay0 pt=26",
}
if len(sys.argv) > 2:
    CAMERAS["/file"] = "filesrc location=" + sys.argv[2] + " ! matroskademux ! rtpjpegpay name=pay0 pt=26"

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
for path, pipeline in CAMERAS.items():
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch("( " + pipeline + " )")
    factory.set_shared(True)
    server.get_mount_points().add_factory(path, factory)
if server.attach(None) == 0:
    sys.exit("the port is taken")
GLib.MainLoop().run()
