// Package eval runs segd's own code over benchmark data and makes the tables:
// DAVIS-2016 video object segmentation for now. It reads files and returns
// reports; printing is the caller's.
package eval
