package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/segd/segd/api"
)

const holdPath = cameraPath + "/frames/{sequence}/holds/{holder}"

// plainName is what a camera or a holder may be called. A holder's is any word of its own choice, so that two
// pages that hold one frame do not let it go for each other.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

type holdInfo struct {
	Sequence uint64    `json:"sequence"`
	Expires  time.Time `json:"expires"`
}

// holdFrame keeps a frame for a user who draws on it, or gives them more time.
func holdFrame(w http.ResponseWriter, r *http.Request, c Camera) error {
	return withHold(r, func(ctx context.Context, seq uint64, holder string) error {
		until, err := c.Hold(ctx, seq, holder)
		return reply(w, holdInfo{seq, until.UTC()}, err)
	})
}

func letGoFrame(w http.ResponseWriter, r *http.Request, c Camera) error {
	return withHold(r, func(ctx context.Context, seq uint64, holder string) error {
		return done(w, c.LetGo(ctx, seq, holder))
	})
}

func withHold(r *http.Request, do func(ctx context.Context, seq uint64, holder string) error) error {
	seq, err := frameNumber(r)
	if err != nil {
		return err
	}
	holder := r.PathValue("holder")
	if !plainName.MatchString(holder) {
		return badField(api.Field{Field: "holder", Detail: fmt.Sprintf("%q; accepts 1 to 64 of A-Z, a-z, 0-9, _ and -", holder)})
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	return do(ctx, seq, holder)
}

// frameNumber is the frame that the path names.
func frameNumber(r *http.Request) (uint64, error) {
	text := r.PathValue("sequence")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, badField(api.Field{Field: "sequence", Detail: fmt.Sprintf("%q; accepts a frame's sequence number", text)})
	}
	return seq, nil
}
