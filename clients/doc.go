// Package clients holds what programs in other languages subscribe to segd and ask it with: a Python package and one for
// JavaScript. Their generated parts are of bus/segdv1/segd.proto. `make clients` builds
// them, and `make examples-test` tries them.
package clients

//go:generate protoc -Isegd=../bus/segdv1 --python_out=python/src --pyi_out=python/src segd/segd.proto
//go:generate npm --prefix js ci --silent --ignore-scripts --no-audit --no-fund
//go:generate protoc -I../bus/segdv1 --plugin=js/node_modules/.bin/protoc-gen-es --es_out=js/src --es_opt=target=js+dts segd.proto
