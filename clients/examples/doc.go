// Package examples holds subscribers to segd's masks in Go, Python and JavaScript,
// each in a folder that can be copied. Tests in e2e/examples run them: `make test` the
// one in Go, and `make examples-test` all, once `make clients` has built and installed the packages of the others.
// watch-python, with OpenCV, supervision and a notebook, is of `make python-test`.
package examples
