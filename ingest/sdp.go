package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/sdpunmarshaler"
)

// maxDescribed bounds the video tracks that are looked at, and the payload types of each.
// Cameras have a few.
const maxDescribed = 32

// onlyVideo returns a session description with what is needed of it and no more: its video
// tracks, and where they are controlled. gortsplib reads all of a description or nothing, and
// cameras describe sound, metadata and what else they send in ways that cannot be parsed. A
// video track or payload type that cannot be read is left out too, unless there is no other.
// The error is an ErrNoVideo that names what there is; sdp is returned with it as it was.
func onlyVideo(sdp []byte) ([]byte, error) {
	session, tracks, kinds := sections(string(sdp))
	switch {
	case len(kinds) == 0:
		return sdp, nil // gortsplib says what is wrong with it
	case len(tracks) == 0:
		slices.Sort(kinds)
		return sdp, fmt.Errorf("%w: the stream has only %s", ErrNoVideo, strings.Join(slices.Compact(kinds), ", "))
	}
	session = append([]string{"v=0", "o=- 0 0 IN IP4 0.0.0.0", "s=-", "t=0 0"}, session...)
	var readable [][]string
	for _, track := range tracks[:min(len(tracks), maxDescribed)] {
		if track = readableTrack(session, track); track != nil {
			readable = append(readable, track)
		}
	}
	if len(readable) == 0 {
		readable = tracks
	}
	return joinLines(append([][]string{session}, readable...)...), nil
}

// sections returns the lines of a session description that are needed, and the kinds of all
// its tracks.
func sections(sdp string) (session []string, tracks [][]string, kinds []string) {
	video := false // of the track that is being read
	for line := range strings.Lines(strings.ReplaceAll(sdp, "\r", "\n")) {
		line = strings.TrimSpace(line)
		if kind, found := strings.CutPrefix(line, "m="); found {
			kind, _, _ = strings.Cut(kind, " ")
			kinds = append(kinds, kind)
			if video = kind == string(description.MediaTypeVideo); video {
				tracks = append(tracks, []string{line})
			}
			continue
		}
		name, _, _ := strings.Cut(line, ":")
		first := func() bool {
			return !slices.ContainsFunc(session, func(l string) bool { return strings.HasPrefix(l, name+":") })
		}
		switch {
		case len(kinds) == 0 && (name == "a=control" || name == "a=key-mgmt") && first():
			session = append(session, line)
		case video && strings.HasPrefix(line, "a=") && name != "a=mid": // which names tracks to those that are left out
			tracks[len(tracks)-1] = append(tracks[len(tracks)-1], line)
		}
	}
	return session, tracks, kinds
}

// readableTrack returns a track without the payload types that cannot be read; nil if none
// can.
func readableTrack(session, track []string) []string {
	if isDescription(session, track) {
		return track
	}
	m := strings.Fields(track[0])
	if len(m) <= 4 {
		return nil
	}
	with := func(types ...string) []string {
		return append([]string{strings.Join(slices.Concat(m[:3], types), " ")}, track[1:]...)
	}
	types := slices.DeleteFunc(slices.Clone(m[3:min(len(m), 3+maxDescribed)]), func(one string) bool {
		return !isDescription(session, with(one))
	})
	if len(types) == 0 {
		return nil
	}
	return with(types...)
}

func joinLines(parts ...[]string) []byte {
	return []byte(strings.Join(slices.Concat(parts...), "\r\n") + "\r\n")
}

// isDescription tells whether gortsplib can read the lines.
func isDescription(session, track []string) bool {
	parsed, err := sdpunmarshaler.Unmarshal(joinLines(session, track))
	return err == nil && new(description.Session).Unmarshal2(parsed) == nil
}
