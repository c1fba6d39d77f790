// Package web serves the page, the HTTP API, health and metrics over HTTP.
//
// In go the masks and pictures of every camera (Publish, from that camera's
// last stage) and its status (Status, once a second); out come, to each viewer
// of a camera, WebSocket messages that hold a picture together with the masks
// of exactly that picture. A viewer has a mailbox of one frame: the newest
// replaces an unread one, and the replaced one is counted and shown. So a slow
// viewer, or one that reads nothing, costs the pipeline nothing but the memory
// of one frame.
//
// A live message in binary is
//
//	uint32, big endian   n, the header's length
//	n bytes              JSON {"frame": MaskFrame, "dropped": count, "sent": ms since 1970}
//	the rest             JPEG of that frame
//
// with MaskFrame as protobuf's JSON mapping writes it. A live message in text is
// {"status": Status} or {"event": Event}, of which a viewer that does not read gets the
// latest 32. A client that asks for ?window=n gets no more than n
// frames that it has not acknowledged by a message of its own (any content), so
// that no buffer between the two can fill with old pictures.
//
// With ?width= and ?fps= it gets pictures of that width and no more of them a second;
// each size is encoded once for all who wait for it, and only while there are any.
//
// Under /api/v1 programs list the cameras and what they show, annotate, follow events by SSE (a
// client that reads too slowly loses some and is told how many), and fetch pictures and masks.
// Events that were kept, and their thumbnails, come from Config.History. Commands go to
// Config.Commands, whose errors become RFC 9457 problem documents. Each client has an allowance
// that its requests spend, and requests that change something are refused to other sites' pages.
// One that panics is answered 500, logged and told to Config.Panicked; the others go on.
//
// Publishers come in by the handler given as Config.WHIP, whose callers are
// checked here, and /publish/CAMERA is a page that sends a browser's camera to it.
//
// A box of a fleet hands requests on to the one that runs the camera (Config.Fleet). It checks who
// asks and tells the other only as what they were let in (As), which answers by ServeHandedOn.
//
// Every method of Server may be called from any goroutine. Publish encodes the
// JPEG on the caller's goroutine, and only while the camera has viewers; Thumbnail
// does likewise, for events, and the newest of each camera are kept in memory.
package web
