// Package tracker follows annotated objects through the scenes of one camera.
//
// In go scenes (package features), oldest first, and annotations; out come, for
// each scene, every object's mask and state. A sliding window of the latest
// frames and the annotated ones, which stay, is labelled, each object for itself, against all else:
//
//   - Affinity. Each superpixel looks up its most similar ones near by in the
//     latest frames and in the annotated ones, in these also round where they show
//     the object, and inherits their labels as probabilities q. This is the unary
//     energy 1 − q. What resembles none of them is background. Near by is farther
//     where frames were dropped in between. Votes of the latest frames count as far as
//     what they are for has moved as the rest of its label has.
//   - Classifier. A linear classifier and the window's labels are estimated
//     together by DC-ADMM (package solver), from the last window's α, λ, labels and
//     classifier, where the Lagrangian cannot rise. What left the window stays in the classifier.
//   - Smoothness. Neighbouring superpixels of like colour prefer one label.
//
// An annotation of people's has the window begin with its frame, and the classifiers of the objects that it defines begin anew; the
// others' stay.
//
// A frame that a detector annotated ([annotation.Annotation.Automatic]) is one of the window, too, but
// does not start it and the classifier anew; the latest alone stays, and later frames do not look it up.
//
// The newest frame is then cut with the classifier speaking as loudly as the
// affinity is unsure, and the pixels along its outlines are cut once more by their
// own colours and scores. Package window, below internal/, has the objective, term by term, and
// what that cut is worth.
//
// An object may have a track: another part says, picture by picture, where all of it is ([Extent]). What is in its box,
// which boxes with a lower foot cover in part, is likelier to be it, and what is outside less likely: as so many votes
// among those of the affinity. A mask head, where the model has one, says which of the box it is: its log odds are added to
// the box's. A box that was not detected in the very scene says nothing of the pixels. It is in sight where it has any
// superpixel; nothing of what follows is for it.
//
// An object without one that is out of sight is looked for by its looks in the annotated frames and a few
// remembered ones, chosen for their differences, against those of the background seen
// meanwhile; first near where it was last seen, then ever farther away; as large as it
// was or up to four times as large across, where scenes have Coarse. A moment after it was in sight it is not larger
// where nothing of it is seen as large as it was: that is something else which is like it. The classifier rests until
// then: it may refuse what was found, but not add to it. Something that came back as an
// object but was gone again at once makes the next such return wait until it has been found
// in a few frames in a row.
//
// # Attention
//
// A frame's work is planned before it is done: [Tracker.Plan] says what the next scene is to
// show, [PlanFor] what one has to that is annotated. That is windows round the objects in sight
// and one where something hidden is expected, each of those that are in turn; elsewhere they are looked for together, in one part
// after the other of where they may be. So ten of them cost as much as one. What is small is seen larger, where pictures have more to show
// than the network sees of a whole one, and finer, from the frame it is marked in on. Where windows
// cost four fifths of a picture, and where there is an annotation, all of it is seen. Of a camera without
// objects there is nothing to be seen but thumbnails. What lies outside the windows is
// background. A plan is made of the last frame; where a scene was planned before a user marked
// what is in it, Step has it made again.
//
// Plans also say in what light the last frame was, and the network is shown the next one as if it were in that
// ([features.Light]): its features change with the light more than anything else does.
//
// What was marked on a picture of another time, before a restart, is looked for in the same
// way: see [Tracker.Recall].
//
// A frame of the last seconds can still be annotated: its scene is made anew of its [Picture],
// and so are those of some that followed it, which are labelled again.
//
// # Inside
//
// A [Tracker] is the order of the steps; what they do is in packages below internal/,
// which import downward only. A scene becomes a picture.Picture, immutable; propagation says
// what its superpixels are by the affinity and the objects' extents, with what recall found again of
// objects out of sight; seed changes that by what a user marked; window estimates the classifier and
// labels the newest frame, and alone knows package solver; trackstate moves the objects' states
// on; outline draws the masks; history keeps the pictures that can still be annotated. Below
// them are cosine (which features are alike), labeling (what happens to labels when objects come and
// go) and scratch (memory).
//
// A frame of the window is the sum of what these keep of it: a recall.Sighting, which
// later frames look up, and a window.Frame, its part in the solves. Each package writes
// what is its own, but that seed changes the belief; and the memory that a step needs
// belongs to the package that does it.
//
// A Tracker belongs to one goroutine.
package tracker
