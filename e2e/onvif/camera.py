"""A camera by ipycam: ONVIF with WS-Security, WS-Discovery and RTSP by FFmpeg.

camera.py HTTP_PORT RTSP_PORT USER PASSWORD
"""
import sys
import time

import numpy
from ipycam import CameraConfig, IPCamera

http, rtsp, user, password = sys.argv[1:]
config = CameraConfig(
    name="Yard", local_ip="127.0.0.1", onvif_port=int(http), rtsp_port=int(rtsp), username=user, password=password,
    main_width=1280, main_height=960, main_fps=10, sub_width=640, sub_height=480, sub_fps=10, hw_accel="cpu",
)
camera = IPCamera(config)
if not camera.start():
    sys.exit("it does not start")
picture = numpy.full((config.main_height, config.main_width, 3), 90, numpy.uint8)
step = 0
while camera.is_running:
    step += 1
    picture[:] = 90
    at = step * 8 % 1000
    picture[400:600, at : at + 200] = (40, 200, 40)
    camera.stream(picture)
    time.sleep(0.1)
