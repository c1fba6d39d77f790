// Package mqtt publishes what cameras show to an MQTT broker, and tells Home Assistant of it.
//
// In go each camera's masks, events and statuses (Mask, Event, Status), as the pipeline publishes
// them, and what cameras there are (Config.Cameras, asked once a second); out come the topics of
// docs/mqtt.md. Publisher's three methods never wait: they change what is to be published under a
// lock that is held for no input or output but the log.
//
// What is retained is a table: of each topic the newest payload. Only what changed is sent, a topic
// that changes faster than the broker takes it skips what is in between, and all of it is sent again
// with each connection, since a broker may have forgotten it. Events and answers wait in a queue;
// when that is full, the oldest go and are counted. Everything is sent with QoS 1.
//
// With each connection the retained topics of one's own cameras are learnt from the broker. Those
// that are not to be, as of a zone that was removed while segd was down, are deleted there, and so
// are those of cameras that there are no more: after all that is published, and bounded in bytes. A
// broker is taken for hostile: topics that no segd publishes are not kept, and a packet that is larger
// than the broker was told (packetLimit) ends the connection.
//
// New, Run, and then from any goroutine the other methods. Run blocks until its context ends, and
// then takes what waits to the broker, if that is quick, and says goodbye.
package mqtt
