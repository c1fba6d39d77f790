// Package crowd makes pictures of as many persons as asked for, of those in a video: for measuring what following costs.
//
// In goes a video from a standing camera; its persons are followed as a camera's are, and cut out by their
// masks. Out come pictures of the video's empty scene, tiled to any size, with persons side by side who walk on the spot.
package crowd
