// Package api holds the types of requests and answers that the HTTP API, NATS and MQTT share: the errors of a camera's
// commands, refusals with their problem documents, declared cameras, and the result of a reload.
//
// It imports nothing of segd, so that the packages that answer do not depend on the protocols.
package api
