// Package export records a data set of the demo and has tools of others read what segd export makes of it:
// pycocotools, Datumaro and Ultralytics; and holds what segd import makes of COCO's polygons to pycocotools. Its tests
// need the build tag e2e; make export-test installs what they need.
package export
