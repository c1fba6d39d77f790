// Package crowd makes pictures of as many persons as asked for, of those in the demo's clip: for measuring what
// following costs.
//
// In goes the clip, of whose persons the package has masks. Out come pictures of the clip's empty scene, tiled to any
// size, with persons side by side who walk on the spot.
package crowd
