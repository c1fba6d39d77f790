// Package rules tries a camera's rules: segd on the demo's clip, a subscriber on NATS, and a program that gets webhooks.
// Its test needs the build tag e2e.
package rules
