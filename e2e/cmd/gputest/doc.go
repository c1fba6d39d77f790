// Command gputest tries segd on a machine with an NVIDIA card:
//
//   - features: frames of the demo's clip, by each way to the card and by the processor;
//   - davis: J of DAVIS sequences, by the card and by the processor;
//   - cameras: how many the card holds, and how busy it is;
//   - memory: whether that of the process or of the card grows;
//   - fallaway: a card that has no memory left fails, the processor computes, and the card is back once
//     there is memory again.
//
// `make gpu-test` builds segd and runs this command. It prints one JSON object to stdout, or to the file of -json,
// and everything else to stderr; README.md has the meaning of each. Its exit status is 0 if all passed,
// 1 if something failed, and 2 if nothing failed but nothing could be computed on a card. Then what needs none was tried
// on the processor.
//
// Whatever may crash runs in a child of this program.
package main
