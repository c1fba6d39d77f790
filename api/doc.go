// Package api holds what segd is asked and answers that is the same over each protocol: the page's HTTP API, the bus or
// MQTT. It has the errors of a camera's commands, refusals, cameras as they are declared, and what a reload came to.
//
// It imports nothing of segd, so that those who answer need not know those who carry.
package api
