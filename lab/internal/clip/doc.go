// Package clip reads sequences in DAVIS-2016's layout, pictures with the truth of
// one object, and changes such pictures.
package clip
