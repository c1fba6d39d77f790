// Package davis runs segd over DAVIS-2016 sequences, undisturbed and disturbed, and
// measures how well it follows their objects. It reads files and returns a report;
// printing is the caller's.
package davis
