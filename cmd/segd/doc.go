// Command segd keeps a pixel mask of each object it was told about, live, for
// any number of cameras, and publishes it on NATS.
//
//	segd init              writes segd.yaml for a camera of yours
//	segd doctor            what this machine can do, and what is missing
//	segd demo              a sample camera, the page, masks: all in one process
//	segd run -c segd.yaml  the daemon
//	segd check -c FILE     is the configuration right, do the cameras answer?
//	segd watch CAMERA      masks as they arrive
//	segd annotate CAMERA FILE
//	segd model             models: which there are, whether one loads
//	segd completion        for bash, zsh and fish
//	segd version
//
// Other programs have some of its commands, see program.go: segd-tools has record, export, import and bench, segd-lab
// has eval.
//
// What is meant for people goes to standard output, or to standard error when
// standard output carries JSON (--json); logs go to standard error. The exit
// status is 0 when all went well, 2 when the configuration or the command line
// has to be changed, and 1 when something else failed. A fault is one line, and
// several faults are several. Colours are for terminals, and off with NO_COLOR. Ctrl-C ends a command in order, twice at once.
package main
