"""Prints the run lengths that pycocotools makes of each annotation of a COCO file.

Usage: masks.py INSTANCES
"""

import json
import sys

from pycocotools.coco import COCO

file = COCO(sys.argv[1])
json.dump([file.annToRLE(file.anns[i])["counts"].decode() for i in sorted(file.anns)], sys.stdout)
