"""Exports networks of random weights as Ultralytics does. Run: python export.py FOLDER"""
import os
import sys

os.environ["YOLO_OFFLINE"] = "1"
from ultralytics import RTDETR, YOLO

NETWORKS = {
    "yolov8n": {}, "yolo11n": {}, "yolo11n-seg": {}, "yolov10n": {"nms": False}, "yolo26n": {"nms": False}, "rtdetr-l": {},
}

os.chdir(sys.argv[1])
for name, options in NETWORKS.items():
    network = (RTDETR if name.startswith("rtdetr") else YOLO)(name + ".yaml")
    network.export(format="onnx", imgsz=320, opset=16, simplify=False, **options)
