// Package ssl runs the semi-supervised learning benchmark of Chapelle et al. It reads
// files and returns a report; printing is the caller's.
package ssl
