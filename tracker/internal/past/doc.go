// Package past keeps the latest scenes of a camera and how they were labelled, so that
// an annotation may be for a picture that somebody saw a moment ago.
//
// In go scenes (package features) with their labels, oldest first; out come scenes by
// sequence number, and which of those after it are to be labelled again. What is kept is
// bounded in bytes. A scene that somebody holds stays beyond the bound, and so does a
// trail of scenes and, closer together, of pictures after it, ever thinner, along which its
// objects are followed to the present. Superpixel maps are kept as run lengths; what is kept
// of the pictures is for somebody else to say.
package past
