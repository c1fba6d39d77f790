package web

import (
	"net/http"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

type accuracyList struct {
	Records []api.Accuracy `json:"records"` // never null
}

func listAccuracy(w http.ResponseWriter, _ *http.Request, c Camera) error {
	return reply(w, accuracyList{append([]api.Accuracy{}, c.Accuracy()...)}, nil)
}

// judge takes what is true of a frame. It is no annotation: the camera tracks as before.
func judge(w http.ResponseWriter, r *http.Request, c Camera) error {
	if err := checkType(r, typeJSON); err != nil {
		return err
	}
	body, err := readBody(w, r, limit.MaxLayout)
	if err != nil {
		return err
	}
	var truth struct {
		Frame   *uint64     `json:"frame"`
		Objects []api.Truth `json:"objects"`
	}
	if err := decodeLong("the body", body, &truth); err != nil { // of masks
		return err
	}
	if truth.Frame == nil {
		return badField(api.Field{Pointer: "/frame", Detail: "it is missing; accepts the sequence number of a kept frame"})
	}
	records, err := c.Judge(*truth.Frame, truth.Objects)
	return reply(w, accuracyList{records}, err)
}

func forgetAccuracy(w http.ResponseWriter, _ *http.Request, c Camera) error {
	c.ForgetAccuracy()
	return done(w, nil)
}
