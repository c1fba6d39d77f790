// Package alerts asks an Alertmanager which alerts of segd fire, for the page.
//
// In go the Alertmanager's URL and the runbook (New); out comes what fires, with what the runbook says of it (Firing).
// Nothing is asked but by Firing, and an answer counts for some seconds, for all callers. Firing may be called from any
// goroutine.
package alerts
