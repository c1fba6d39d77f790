// Package dataset keeps pictures of cameras with their masks in folders, writes them in formats that others
// train with and correct, and reads what was corrected.
//
// A [Recording] takes frames that a [Chooser] chose, each a picture (CAMERA-EPOCH-SEQUENCE.jpg) and its
// segd.v1.MaskFrame as JSON beside (.json), or by [Clips] videos (.mp4). It removes its oldest files when they
// are more than they may be, and no file of others. [Export] writes a folder of such as COCO, YOLO, CVAT or PNGs;
// [Find] reads COCO and CVAT, piece by piece, and keeps one picture's marks.
//
// A file that is read may be anything: what is wrong with it is an error. Recordings, choosers and clips are for one
// goroutine at a time each.
package dataset
