// Package clip reads sequences in DAVIS-2016's layout, pictures with the truth of
// one object, and follows the object as a camera's would be. A View serves several
// trackers on the same frames, and Automatic follows what a detector finds in a video.
package clip
