// Package attack tries, without credentials and in every role, what that role may not do: over NATS each subject
// that nats-server and segd know, with payloads that would do harm; each request that a role may make, with its
// answer sent where it would pass for something else; over HTTP each route and method; over MQTT, as the broker, each
// topic, and others without end. Then floods and files that never end. Afterwards nothing of segd's may have changed.
// segd import reads files that would take all memory.
package attack
