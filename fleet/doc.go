// Package fleet decides which of several boxes runs each camera, over NATS JetStream.
//
// In go a connection, the cameras there are and how many frames a second this box can
// label; out come the cameras that this box is to run, each with its Lease, whenever that
// changes (Runner). Nothing in it knows what a camera is.
//
// # Who holds what
//
// One key-value bucket has two keys for each box, and one for each camera and each order of an operator.
// Every change is a compare-and-set on the key's revision, so the server decides between
// two who want the same thing. The revision at which a camera's lease was taken is its
// fencing token: it is greater than those of all who held the camera before. A subscriber that
// consumes what is published and keeps to the highest token sees one box.
//
// A box that runs says so several times a second by a heartbeat, and renews a key of its own
// every few seconds, of which its heartbeats tell the revision: all boxes are told of all
// other keys, of these only those five that watch it. Who watches it and has heard nothing
// for Timing.TTL ends its session by compare-and-set on the key that it renews, and then says
// so in the box's other key; what that session held may then be taken. A box in turn
// publishes only while (Lease.Valid)
//
//   - a heartbeat that it sent less than TTL ago has come back to it, and
//   - a renewal that it sent less than Timing.Lease ago was confirmed, and after a lapse
//     of either one that was sent since.
//
// Once none of its heartbeats has come back for TTL/4 it sends them for itself alone, and renews nothing: else one that
// reaches others, and is not reached, would keep what it may not publish.
//
// So it has stopped before others may take over, by its own monotonic clock; no box
// compares clocks. The heartbeats let it go on while a cluster of NATS servers elects a
// leader, during which nothing can be renewed, and nothing taken from it either. See
// tenure and silence for why that is safe, and TestModel, which tries all interleavings.
//
// # Who runs what
//
// There is no leader who assigns cameras. Each box ranks the boxes that may run a camera
// by rendezvous hashing, weighted by their free capacity and bounded by how full they are,
// and takes a camera that no box holds after a time that grows with its own rank: the
// first takes it at once, and if it does not (it does not know the camera, it has just
// died) the second does soon. That boxes see loads a little differently costs time, never
// a camera that two run. One box, that which holds the lease of the plan, evens out what
// has become uneven, by a few moves a second.
//
// A Member may be used from any goroutine. Run runs it and joins all of its goroutines.
package fleet
