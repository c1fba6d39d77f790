// Package webhook posts events to HTTP servers as CloudEvents 1.0 in JSON, signed as Standard Webhooks says
// (docs/webhooks.md).
//
// In go each camera's events (Sender.Event), as the pipeline publishes them, and which hooks there are (Sender.Set, at the start and
// whenever the configuration changes). Event never waits: it puts what a hook asks for into that hook's queue, which is
// bounded; when it is full, the oldest go and are counted. Each hook has a goroutine that posts one event after the other,
// and an event again, after growing pauses, until the server takes it, refuses it for good, or it is too old.
//
// New, Run, and then from any goroutine the other methods. Run blocks until its context ends, gives what waits a moment, and has
// then joined all goroutines.
package webhook
