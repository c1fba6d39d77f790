// Package fleetsim tries package fleet with many boxes and cameras at once: every box is a
// fleet.Member with a NATS connection of its own, all in one process, at a NATS server that is
// another. The cameras have no pictures: a box only notes which leases it has. Boxes crash and join
// again at random moments, and it is measured how long the cameras of one that crashed are without a
// box, how even the others are used, how many leases change boxes for that, and what it costs in
// messages and processor time.
package fleetsim
