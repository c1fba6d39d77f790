// Package checkpoint reads and writes what segd knows of a camera, as one value that is kept over
// a restart: protobuf (package checkpointv1), compressed by Zstandard (RFC 8878) with its
// checksum.
//
// It holds the pictures that the objects were marked on and the newest one, as annotations of
// them, and what pictures do not say: what each object is called, whose it is and where, the tracks, and what the zones
// have counted: plain snapshots of packages objects, track, tracker and zones, which know nothing of protobuf. Of a checkpoint of another version the pictures alone are
// taken, from which the objects are learnt again; a damaged one is an error that wraps [ErrDamaged].
package checkpoint
