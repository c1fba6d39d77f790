// Command peers compares segd and its solver with the programs their parts are known
// by, on the very same inputs, in one run, repetition by repetition in turn:
//
//   - package solver/mrf with the max-flow library of Boykov and Kolmogorov, on
//     graphs of superpixels and of pixels;
//   - package solver, its labels fixed, with LIBLINEAR, on two-class data;
//   - segd's masks of DAVIS sequences with those that OpenCV's optical flow, its
//     tracker CSRT and GrabCut give;
//   - segd's superpixels of the same sequences with SLIC's as OpenCV has it, on one thread;
//   - the persons that segd found in a video with those of SORT, on detections of every
//     frame and of one in ten.
//
// `make peers` installs the peers, builds the small programs in theirs/ around
// them and runs this command. It prints one JSON object, of ratios ours/theirs and
// of the masks', superpixels' and tracks' figures, to stdout and everything else to stderr;
// README.md has the meaning of each. A flow of another value than theirs is
// an error.
package main
