// Package offline follows objects in pictures that are at hand, as a camera of segd's follows them in a
// stream. A View serves several trackers on the same pictures.
package offline
