// Package natsconn carries byte streams over NATS core messages: a net.Listener and
// net.Conns between two processes of which each reaches a NATS server and neither the
// other. HTTP goes through it as through TCP, WebSockets and server-sent events too.
//
// In go a NATS connection and a subject; out come connections, by Listen on the one side
// and Dial on the other. Listen and Dial, a listener and a connection may be used from any
// goroutine. A connection has one goroutine, which Close joins.
//
// # Opening
//
// Dial sends a request to the subject, with its version, the window in which it takes data
// and the inbox where it takes messages, as JSON (see hello). The listener answers with the
// same of its own, or with the reason why it refuses. An inbox is made anew for each
// connection and ends in ".natsconn." and 128 random bits: who does not know it cannot put
// in a word, and a request cannot make the listener publish to subjects of other kinds. If
// nobody listens, the NATS server says so at once, and Dial returns nats.ErrNoResponders.
// Two listeners at one subject both answer; the first answer counts.
//
// Each side begins with a ping. A listener that has not had one after Config.KeepAlive
// gives the connection up: whoever dialled has gone.
//
// # Messages
//
// Then each publishes to the other's inbox messages that begin with a letter and a number:
//
//	byte 0     what it is
//	byte 1-8   number of the message in this direction, from 0, big endian
//	byte 9-    d: data, 1 to MaxData bytes
//	           g: grant, a uint32: as much more may be sent
//	           p: ping, nothing
//	           c: close, nothing: all that was written before has been sent
//	           r: reset, a text: why the connection is of no more use
//
// NATS core keeps the order of messages and may lose some, when a connection to a server or
// between servers breaks or somebody is too slow. Every message is numbered, so that the
// next one shows it, a ping at the latest, and the connection is reset: bytes are never
// missing in the middle of what Read returns. Nothing is sent again. A reset alone counts
// whatever its number. When the NATS connection of this process breaks, its connections are
// reset at once.
//
// # Flow control
//
// A side may send as much as the other has granted: at first its window, then as much as
// the other has read since, told in steps of a quarter of the window. A data message costs
// its bytes and messageCost. A peer that sends more is reset, and what waits in the NATS
// client is bounded by the same window; so a connection takes no more memory than twice
// the window and a few messages, whatever its peer does.
//
// Write returns when all it was given has been taken to be published, for which it waits
// for the credit; so Close has nothing to wait for but what has credit already.
//
// # Going away
//
// A side that has had nothing for Config.Silence, in which three pings should have come,
// is reset. Errors after a reset are syscall.ECONNRESET, wrapped with the reason; those of
// a Write after the other has closed are syscall.EPIPE. Read returns what came before.
//
// # What to know when using it
//
// A NATS client writes to its server under one lock. Much data through connections makes
// other messages of the same nats.Conn wait, at worst, when the network hangs, until its
// FlusherTimeout; give natsconn a nats.Conn of its own. Only Dial and Close wait for that
// lock, Close no longer than closeWait; Read, Write and deadlines do not.
//
// Who may connect is who may publish to the subject. Nothing is encrypted on top of what
// the NATS connections do, and a NATS server sees everything.
package natsconn
