// Package mot follows the persons of a video whose true boxes are known, in
// MOTChallenge's format, each marked once: each alone, and all together. It counts as
// py-motmetrics does: IDF1, IDP and IDR by the one-to-one assignment of identities
// that is best for the whole video (Ristani et al., "Performance Measures and a Data
// Set for Multi-Target, Multi-Camera Tracking", 2016), and identity switches as
// CLEAR-MOT does (Bernardin and Stiefelhagen, 2008). In go pictures and boxes, out
// comes a report; reading the video and printing are the caller's.
//
// A [Recording] counts the same of boxes that another tracker found, such as those
// of a running segd. [Score] is for trackers that find everybody by themselves: CLEAR-MOT's
// and identity figures of a result in MOTChallenge's format. [RunHidden] counts how much of the persons
// privacy hides.
package mot
