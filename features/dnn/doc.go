// Package dnn computes feature maps and finds things, with ONNX Runtime or with OpenCV's DNN module. It is the only
// package of segd that links OpenCV, and does so with the build tag opencv alone.
//
// [Embedded] opens the model in the binary (segd-p64, described in
// models/segd-p64.md), [Open] an ONNX or Caffe file. In goes a BGR24 image, or a part of one, out
// come one [features.Map] a tap in memory of Go's own, placed on the image's own
// pixels whatever size the model saw, and of a model with heads what it finds ([Info.Classes]). A [Model] may be
// used from any goroutine, by several at once.
//
// [OpenDetector] opens an ONNX file with the outputs of a NanoDet, a YOLOX or a
// YOLOv8. In goes a BGR24 image, out come [features.Detection]s in its pixels: see [Detector].
//
// OpenCV, where it is built in, says what a model's layers are; else ONNX Runtime does, and calls them the same.
// Caffe models are OpenCV's alone. ONNX Runtime is a shared library that is loaded where it is found
// ([LibraryFolders]); it is given the part of an ONNX model that makes the taps. Both make the
// same to about 1e-6, and ONNX Runtime in a third of the time. Computing.Engine chooses, and by
// default the faster one is taken, once it made the same of a frame; Info.Engines tells what
// each took, or why it cannot be used.
//
// The processor computes, or a card where one of the engines can use it (Computing.Device): OpenCV
// if it was built for CUDA, as Debian's is not, or an ONNX Runtime with its provider for CUDA or TensorRT. A
// card is believed once it made the same of an image as the processor, which takes over when it fails. Images
// of one size that are asked for at about the same time may go into one run (Computing.Batch).
//
// A model may end the process that loads it, and so may a library that a user names, so Open and
// OpenDetector first have a child process try it ([Probe], [ProbeDetector]); what can be seen from the
// bytes of an ONNX file is checked even before that. OpenCV is called through some lines of C++ that turn its
// exceptions into errors.
//
// Taps are named as "segd model check" lists a model's layers; for ONNX these are
// "onnx_node!NAME" for named nodes, "onnx_node_output_0!TENSOR" for unnamed ones,
// and the output's own name for the model's outputs. A graph viewer shows the same
// names without the prefix, which may be left out.
package dnn
