// Package model shows segd networks as Ultralytics' own program exports them, of random weights.
// Its test needs the build tag e2e; make model-test installs what it needs.
package model
