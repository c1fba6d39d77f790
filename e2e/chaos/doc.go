// Package chaos tries a running segd with everything at once, for a quarter of an hour:
// cameras that are killed, silent, slow or of another size and codec, a NATS server that
// is killed or stands still, a full disk, a clock that jumps, a segd that is stopped;
// and all the while subscribers and pages that do not read, and annotations that are none.
// Afterwards it must be as if nothing had been.
package chaos
