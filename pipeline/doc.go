// Package pipeline is one camera's life.
//
// In go what a camera is made of (a source of frames, an extractor of scenes, a
// stepper that tracks) and where results go (a publisher, a viewer, a meter);
// out come masks, events (of zones and lines too) and a status once a second. A camera's stages
//
//	ingest → features → track and publish → view
//
// are one goroutine each with a mailbox of one frame in front of it: the newest
// frame replaces an unread one, and the replaced one is released and counted. So
// a frame waits for the slowest stage once, never in a queue. Features are computed of
// the newest frame there is when the one before is being tracked, and a core is free for
// it (Config.Cores): what was computed is never dropped for a newer frame. A frame that
// a client annotated is pinned: it is never replaced, the newer one is dropped
// instead.
//
// Which objects there are, what they are called and whose they are says one table (package objects). The holder of the
// camera's turn edits it: the stage that tracks, and commands between two frames. For each frame that stage decides what
// the detections lead to (package marking), steps the tracker, applies both to the table and makes a report, from which
// masks, events, zones, metrics and checkpoints are told. Lists and the status read the table.
//
// An error in a stage costs that frame. A panic, or error after error, costs the
// stages: they are torn down and built anew after a pause that grows, with the
// source redialled. The camera keeps the pictures that its objects were marked on, the last one that shows them, and a
// snapshot of the tracker from the last second; the new stages go on from these. An annotation of the configuration
// that has its picture is taken in the same way. Checkpoints (Config.Checkpoints, docs/checkpoints.md) keep the same
// over a restart. Objects with which the stages fail twice in a row are forgotten. No other camera sees
// anything of a failure.
//
// # Where things are
//
//   - The flow of a frame: stages.go (goroutines, drops and failures, features), report.go (the stage that tracks),
//     detect.go (a detector of its own, and when it looks).
//   - A camera's life: camera.go (Config, Run, up and down), parts.go (what a camera is made of), recall.go (what new
//     stages learn the objects from), checkpoint.go and restore.go (over a restart).
//   - What people ask for: annotate.go, commands.go, hold.go, zones.go; newest.go has what they read.
//   - What is told: events.go (with thumbnails, made before the bus gets the event), stats.go (the status), slow.go (the log of slow frames).
//
// What does not know a Camera is below: mailbox stands in front of a stage, pending holds annotations that wait for their
// frames, memory the pictures that objects are remembered by, keeper has checkpoints kept, message makes the messages of
// segd.v1, rolling counts, guard turns panics into errors. Package set runs cameras side by side.
//
// Camera.Run blocks; when its context ends it stops the source, finishes the frames in hand, answers
// who waits, and returns. Every other method may be called from any goroutine.
package pipeline
