// Package eval runs segd's own code over benchmark data and makes the tables:
// DAVIS-2016 video object segmentation, the semi-supervised learning benchmark
// of Chapelle et al., and the paper's four moons. It reads files and returns
// reports; printing is the caller's.
package eval
