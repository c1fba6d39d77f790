package fleet

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Keys of the bucket. All boxes are told of all of them but those of lifeKey, which are renewed.
const (
	boxKey    = "box."
	lifeKey   = "life."
	cameraKey = "camera."
	orderKey  = "order."
	planKey   = "plan"
)

// Box is what a box says of itself.
type Box struct {
	// Session is of one run of it.
	Session string `json:"session"`
	// Over says that the session holds nothing any more: it has left, or was silent.
	Over bool `json:"over,omitempty"`
	// Leaving says that the box is about to end, and takes nothing more.
	Leaving bool `json:"leaving,omitempty"`
	// By is who ended it, if that was another box.
	By string `json:"by,omitempty"`
	// Life is the revision at which the key that the session renews began.
	Life uint64 `json:"life,omitempty"`
	// Page is the URL of its page for people and publishers, empty if it tells none.
	Page string `json:"page,omitempty"`
	// Address is the URL of its page for other boxes.
	Address string            `json:"address,omitempty"`
	Host    string            `json:"host,omitempty"`
	Version string            `json:"version,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Capacity is how many frames a second it can label, at the sizes of its cameras.
	Capacity float64 `json:"capacity"`
	// Most is how many cameras it takes; 0: any number.
	Most int `json:"most,omitempty"`
}

// life is what a box renews, and what its session is ended by: all that it holds is its own until
// this is over. Its Box says so afterwards, to all.
type life struct {
	Session string `json:"session"`
	Over    bool   `json:"over,omitempty"`
}

// record is what is known of the lease of a camera, or of the plan.
type record struct {
	// Box and Session hold it; empty: none does.
	Box     string `json:"box,omitempty"`
	Session string `json:"session,omitempty"`
	// Token is the fencing token; 0: the revision of this very record.
	Token uint64 `json:"token,omitempty"`
	// To is for whom it is meant, while no box holds it.
	To string `json:"to,omitempty"`
	// From held it before, and Why it changed.
	From string `json:"from,omitempty"`
	Why  Why    `json:"why,omitempty"`
	// Rate is the camera's, frames a second, when it was last followed; 0: not known.
	Rate float64 `json:"rate,omitempty"`
}

// Why a camera came to the box that runs it.
type Why string

// The reasons.
const (
	WhyNew       Why = "new"       // no box ran it
	WhyDied      Why = "died"      // the box that ran it fell silent
	WhyLeft      Why = "left"      // the box that ran it ended
	WhyDrain     Why = "drain"     // the box that ran it is drained
	WhyRebalance Why = "rebalance" // the box that ran it has less room
	WhyMove      Why = "move"      // an operator asked for it
	WhyMisfit    Why = "misfit"    // the box that ran it does not know it any more, or lacks a label
)

// order is what an operator has said of a box.
type order struct {
	// Cordoned takes no more cameras, and Drained gives away those that it has, too.
	Cordoned bool `json:"cordoned,omitempty"`
	Drained  bool `json:"drained,omitempty"`
}

const (
	maxRecord = 16 << 10 // bytes
	maxText   = 256      // of a name, label or URL
	maxLabels = 64
	// noCapacity is that of a box which says none that can be.
	noCapacity = 1
)

// decode reads a record; an empty value is the zero one.
func decode[T any](value []byte) (v T, err error) {
	switch {
	case len(value) == 0:
		return v, nil
	case len(value) > maxRecord:
		return v, fmt.Errorf("fleet: a record of %d bytes; want at most %d", len(value), maxRecord)
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return v, fmt.Errorf("fleet: a record: %w", err)
	}
	return v, nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a number that JSON has no word for; tidy and finite see to that
	}
	return data
}

// tidy has what others say of a box be what can be.
func (b Box) tidy() Box {
	b.Capacity = finite(b.Capacity, noCapacity)
	b.Most = max(b.Most, 0)
	b.Page, b.Address, b.Host, b.Version = short(b.Page), short(b.Address), short(b.Host), short(b.Version)
	if len(b.Labels) > maxLabels {
		b.Labels = nil
	}
	return b
}

// finite is v, or other if it is no positive number.
func finite(v, other float64) float64 {
	if v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return other
}

func short(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "")
}
