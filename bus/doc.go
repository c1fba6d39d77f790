// Package bus carries segd's masks, events, status and commands over NATS.
//
// In go the messages of package segdv1; out they go on
//
//	segd.v1.<site>.<camera>.mask      every frame; core NATS
//	segd.v1.<site>.<camera>.event     also kept in a JetStream stream
//	segd.v1.<site>.<camera>.status    once a second; core NATS
//
// as protobuf or JSON, told apart by the Content-Type header. A NATS micro
// service named segd answers
//
//	segd.v1.<site>.<camera>.annotate  an annotation, JSON or PNG
//
// Open starts a NATS server inside the process or connects to one elsewhere,
// which may come and go: the connection is made again for ever, what is
// published meanwhile waits in a bounded buffer, and what does not fit is an
// error to whoever published it. Any goroutine may call any method of a Bus;
// publishing waits for no subscriber. Close hands over what was published, waits
// for the commands in hand and joins every goroutine.
//
// Watch and Annotate are the other side: they need a server's URL, no Bus.
package bus
