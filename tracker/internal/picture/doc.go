// Package picture is one scene as the tracker needs it.
//
// In goes a scene (package features) and the camera's projection; out comes a
// Picture: the superpixels, their features in the forms that those who compare,
// classify and cut them want, who touches whom, and where to look for what is near.
// It is immutable once made, so any number of holders may share it without a copy.
//
// The smoothness between neighbours is the contrast-sensitive Potts term of Boykov
// and Jolly, Interactive graph cuts (2001).
package picture
