// Package codec turns compressed video into BGR24 pixels and back, through
// FFmpeg's libraries.
//
// In: H.264 or H.265 access units in Annex-B form (and single pictures of a few
// other codecs), or a video file. Out: a [Picture],
// which writes itself, upright, as tight BGR24 rows into memory the caller owns. The
// [Encoder] goes the other way, for the sample camera and for tests, and a [Muxer]
// writes what it makes to a file.
//
// Of pictures that their stream calls interlaced, a Decoder and a Demuxer make progressive ones, each when the next one
// comes; of a picture with spatial layers the highest is shown.
//
// Nothing that FFmpeg owns leaves the package: a Picture is valid only until
// the call that made it returns or is repeated, and its pixels are copied out.
// Decoder, Demuxer, Encoder and Muxer each belong to one goroutine at a time. Each
// holds C memory that the garbage collector does not see, so each must be closed;
// Close may be called more than once.
//
// Decoding runs on the calling goroutine's thread alone: frame threading would
// hold back one frame a thread, and slice threading gains nothing on the
// single-slice streams cameras send.
//
// FFmpeg prints nothing: its log is switched off when the package is loaded.
// What it has to say that matters comes back as errors.
package codec
