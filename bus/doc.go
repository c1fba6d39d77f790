// Package bus carries segd's masks, events, status and commands over NATS.
//
// In go the messages of package segdv1; out they go on
//
//	segd.v1.<site>.<camera>.mask      every frame; kept in a JetStream stream on request
//	segd.v1.<site>.<camera>.event     kept in a JetStream stream, once each
//	segd.v1.<site>.<camera>.status    once a second; core NATS
//	segd.v1.<site>.<camera>.picture.* of events; kept in a JetStream stream on request
//
// as protobuf or JSON, told apart by the Content-Type header. A NATS micro
// service named segd answers
//
//	segd.v1.<site>.<camera>.annotate  an annotation, JSON or PNG
//
// and further requests, and on segd.v1.<site>.reload one that is for no camera. Those are
// limited in size and rate, and a panic of one ends it alone. Two segd with a camera of one
// site and name find one another on segd.v1.<site>.claim, and the second is refused.
// Bus.Cameras has it all done for other cameras, while those that stay are served on.
//
// Open starts a NATS server inside the process, with users and TLS where they are
// configured, or connects to one elsewhere, which may come and go or refuse us: the
// connection is made again for ever. Masks and status meanwhile wait in a bounded
// buffer, events in a bounded queue until JetStream has acknowledged them. What does
// not fit is an error to its publisher and is counted, as is what may have been
// lost with a connection: see Stats. Any goroutine may call any method of a Bus;
// publishing waits for no subscriber. Close hands over what was published, waits
// for the commands in hand and joins every goroutine.
//
// Watch and Annotate are the other side: they need a server's URL, no Bus.
package bus
