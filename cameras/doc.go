// Package cameras decides which cameras one segd runs, and changes that while they run.
//
// Cameras come from the configuration file, are added over HTTP or NATS while segd runs (and kept, encrypted, in a
// bucket of the NATS server), or are given to a box of a fleet with a lease. In go a configuration, requests to add,
// change and remove cameras, reloads of the configuration, and leases. Out come the changes of a set.Set: a
// Manager prepares a change, tries everything that may fail, and only then applies it, so that a refused change has
// changed nothing and cameras that stay notice nothing. What a camera is made of, and who has to hear of changes, is
// the Host's.
//
// Changes come one after another; those who wait for their turn wait no longer than their contexts. A Manager's
// methods may be called from any goroutine: New first, then Start once, then Follow in a goroutine of its own, which
// ends with its context, and Close once the Set's Run has returned. The Manager starts no other goroutine that
// outlives a call. Errors of requests are *api.Refusal where the request is to blame or may be repeated.
package cameras
