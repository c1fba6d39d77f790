package whip

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/ingest"
)

func packet(seq uint16, payload ...byte) *rtp.Packet {
	return &rtp.Packet{Header: rtp.Header{SequenceNumber: seq}, Payload: payload}
}

// out is what the buffer hands out: the payload's byte, or minus the loss before
// it.
func collect(out *[]int) func(ingest.Packet) {
	return func(p ingest.Packet) {
		if p.Lost > 0 {
			*out = append(*out, -p.Lost)
		}
		*out = append(*out, int(p.Payload[0]))
	}
}

func TestReorder(t *testing.T) {
	type in struct {
		seq uint16
		ms  int // since the test began
	}
	hold := int(holdTime / time.Millisecond)
	for _, tc := range []struct {
		name string
		in   []in
		want []int // low bytes of sequence numbers; negative: so many lost before the next
	}{
		{"in order", []in{{1, 0}, {2, 1}, {3, 2}}, []int{1, 2, 3}},
		{"swapped", []in{{1, 0}, {3, 1}, {2, 2}, {4, 3}}, []int{1, 2, 3, 4}},
		{"twice", []in{{1, 0}, {1, 0}, {2, 1}, {1, 2}, {3, 3}, {3, 3}}, []int{1, 2, 3}},
		{"twice while it waits", []in{{1, 0}, {3, 0}, {3, 1}, {2, 2}}, []int{1, 2, 3}},
		{"over the end of the numbers", []in{{65534, 0}, {1, 1}, {65535, 2}, {0, 3}}, []int{254, 255, 0, 1}},
		{"just in time", []in{{1, 0}, {3, 0}, {4, hold - 1}, {2, hold - 1}}, []int{1, 2, 3, 4}},
		{"given up", []in{{1, 0}, {4, 0}, {5, hold}, {6, hold}}, []int{1, -2, 4, 5, 6}},
		{"too late", []in{{1, 0}, {3, 0}, {4, hold}, {2, hold + 1}, {5, hold + 2}}, []int{1, -1, 3, 4, 5}},
		{"two holes, one given up", []in{{1, 0}, {3, 0}, {5, 100}, {6, hold}, {4, hold + 1}}, []int{1, -1, 3, 4, 5, 6}},
		{"two holes given up at once", []in{{1, 0}, {3, 0}, {5, 1}, {6, hold + 2}}, []int{1, -1, 3, -1, 5, 6}},
		{"one far off", []in{{2000, 0}, {7, 1}, {2001, 2}, {9, 3}, {2002, 4}}, []int{2000 & 255, 2001 & 255, 2002 & 255}},
		{"numbers begin anew ahead", []in{{1, 0}, {3, 1}, {20003, 2}, {20004, 3}}, []int{1, -1, 3, -1, 20004 & 255}},
		{"numbers begin anew behind", []in{{20000, 0}, {7, 2}, {8, 3}, {9, 4}}, []int{20000 & 255, -1, 8, 9}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r reorder
			var got []int
			for _, in := range tc.in {
				r.push(packet(in.seq, byte(in.seq)), time.Unix(0, 0).Add(time.Duration(in.ms)*time.Millisecond), collect(&got))
			}
			assert.Equal(t, tc.want, got, "handed out")
		})
	}
}

// Packets without payload leave no trace, not even in the numbers.
func TestReorderPadding(t *testing.T) {
	var r reorder
	var seqs []uint16
	emit := func(p ingest.Packet) {
		assert.Equal(t, 0, p.Lost, "lost")
		seqs = append(seqs, p.SequenceNumber)
	}
	for _, p := range []*rtp.Packet{packet(65534, 1), packet(0), packet(65535), packet(1, 2), packet(2, 3)} {
		r.push(p, time.Time{}, emit)
	}
	assert.Equal(t, []uint16{65534, 65535, 0}, seqs, "numbers")
}

// Whatever comes in whatever order: what goes out rises, nothing that came in time
// is missing, the losses add up, and the memory is bounded.
func TestReorderProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		const n = 5000
		type arrival struct {
			i  int
			at time.Duration
		}
		var in []arrival
		for i := range n {
			at := time.Duration(i) * time.Millisecond
			switch rng.IntN(20) {
			case 0: // never comes
				continue
			case 1: // late
				at += time.Duration(rng.IntN(int(holdTime - 2*time.Millisecond)))
			case 2: // twice
				in = append(in, arrival{i, at + time.Duration(rng.IntN(int(2*holdTime)))})
			}
			in = append(in, arrival{i, at})
		}
		slices.SortStableFunc(in, func(a, b arrival) int { return int(a.at - b.at) })
		first := in[0].i
		start := uint16(rng.Uint32())
		var r reorder
		last, lost, count, late, longest := first-1, 0, 0, 0, time.Duration(0)
		for _, a := range in {
			p := packet(start+uint16(a.i), byte(a.i), byte(a.i>>8))
			r.push(p, time.Unix(0, 0).Add(a.at), func(p ingest.Packet) {
				i := int(p.Payload[0]) | int(p.Payload[1])<<8
				if i != last+p.Lost+1 {
					t.Fatalf("packet %d after %d with %d lost between", i, last, p.Lost)
				}
				last = i
				lost += p.Lost
				count++
				if p.Late {
					late++
				}
				longest = max(longest, p.Held)
			})
			// One comes about every millisecond, until the end.
			if a.at < n*time.Millisecond && (r.waiting > holdPackets || r.stats.LongestAt > holdTime+10*time.Millisecond) {
				t.Fatalf("%d packets wait, the longest %v", r.waiting, r.stats.LongestAt)
			}
		}
		came := map[int]bool{}
		for _, a := range in {
			came[a.i] = a.i >= first
		}
		missing := 0 // up to the last one handed out
		for i := first; i <= last; i++ {
			if !came[i] {
				missing++
			}
		}
		if lost != missing || count != last-first+1-missing || last < n-int(holdTime/time.Millisecond)-50 {
			t.Errorf("%d handed out, %d lost; of the first %d, %d never came", count, lost, last-first+1, missing)
		}
		if r.stats.Packets != count || r.stats.Lost != lost || r.stats.LongestAt != longest || r.stats.Late-late > r.waiting {
			t.Errorf("stats %+v, counted %d, %d lost, %d late, longest %v", r.stats, count, lost, late, longest)
		}
	}
}

func TestReorderAllocatesNothing(t *testing.T) {
	var r reorder
	p := packet(0, 1)
	seq := uint16(0)
	emit := func(ingest.Packet) {}
	if n := testing.AllocsPerRun(1000, func() {
		p.SequenceNumber = seq
		seq++
		r.push(p, time.Time{}, emit)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
