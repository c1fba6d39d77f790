// Package checkpoint reads and writes what segd knows of a camera, as one value that is kept over
// a restart: protobuf (package checkpointv1), compressed by Zstandard (RFC 8878) with its
// checksum.
//
// It holds the pictures that the objects were marked on and the newest one, as annotations of
// them, and what pictures do not say: where each object is, what it is as a whole, what is behind
// them, what was marked automatically and what the zones have counted. A camera recalls the
// pictures, and then resumes the rest. Of a checkpoint of another version the pictures alone are
// taken, from which the objects are learnt again; a damaged one is an error that wraps [ErrDamaged].
package checkpoint
