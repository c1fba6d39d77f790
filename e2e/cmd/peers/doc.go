// Command peers compares segd's solver with the programs its parts are known by,
// on the very same inputs, in one run, repetition by repetition in turn:
//
//   - package solver/mrf with the max-flow library of Boykov and Kolmogorov, on
//     graphs of superpixels and of pixels;
//   - package solver, its labels fixed, with LIBLINEAR, on two-class data.
//
// `make peers` installs the peers, builds the small programs in theirs/ around
// them and runs this command. It prints one JSON object of ratios ours/theirs to
// stdout and everything else to stderr; docs/benchmarks.md has the meaning of each.
// A flow of another value than theirs is an error.
package main
