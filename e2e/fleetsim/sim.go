package fleetsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/fleet"
)

const (
	site = "fleetsim"
	// use is the share of all boxes' capacity that all cameras take.
	use = 0.6
	// leastRate and mostRate are those of cameras, frames a second.
	leastRate, mostRate = 5, 25
)

// multiples are the capacities of boxes, of a common base.
var multiples = []float64{1, 2, 4}

// sim is a fleet.
type sim struct {
	url     string
	timing  fleet.Timing
	cameras []fleet.Camera
	number  map[string]int // of a camera
	rates   []float64
	fenced  atomic.Int64
	lapsed  atomic.Int64
	running sync.WaitGroup
	began   time.Time

	mu    sync.Mutex
	boxes map[string]*box // by name; one that crashed until it joins again
	last  []holding       // who took each camera last
	moves []move
	moved time.Time // when a camera has changed boxes last

	// Of the goroutine that samples.
	highest    []uint64 // the highest token that was valid, by camera
	doubleHeld int
	tokensFell int
}

// holding is who took a camera's lease.
type holding struct {
	box   string
	token uint64
}

// move is a camera that has changed boxes.
type move struct {
	from, to string
	why      fleet.Why
}

// box is a box, from when it starts until it crashes.
type box struct {
	*fleet.Member
	sim      *sim
	name     string
	capacity float64
	conn     *nats.Conn
	cancel   context.CancelFunc

	mu      sync.Mutex
	leases  map[int]*fleet.Lease
	crashed bool
}

// newSim has so many cameras, of random rates, and boxes that it does not start yet.
func newSim(url string, boxes, cameras int, timing fleet.Timing, random *rand.Rand) *sim {
	s := &sim{
		url: url, timing: timing, number: map[string]int{}, boxes: map[string]*box{},
		last: make([]holding, cameras), highest: make([]uint64, cameras), moved: time.Now(), began: time.Now(),
	}
	var load, sum float64
	for i := range cameras {
		s.cameras = append(s.cameras, fleet.Camera{Name: fmt.Sprintf("camera%05d", i)})
		s.number[s.cameras[i].Name] = i
		s.rates = append(s.rates, leastRate+random.Float64()*(mostRate-leastRate))
		load += s.rates[i]
	}
	for i := range boxes {
		sum += multiples[i%len(multiples)]
	}
	for i := range boxes {
		name := fmt.Sprintf("box%03d", i)
		s.boxes[name] = &box{sim: s, name: name, capacity: multiples[i%len(multiples)] * load / use / sum, crashed: true}
	}
	return s
}

// join starts a box, which has not run yet or has crashed.
func (s *sim) join(name string) error {
	run, err := s.prepare(name)
	if err == nil {
		run()
	}
	return err
}

// prepare connects a box and returns what starts it.
func (s *sim) prepare(name string) (run func(), err error) {
	s.mu.Lock()
	before := s.boxes[name]
	s.mu.Unlock()
	b := &box{sim: s, name: name, capacity: before.capacity, leases: map[int]*fleet.Lease{}}
	if b.conn, err = nats.Connect(s.url, nats.MaxReconnects(-1), nats.Timeout(10*time.Second)); err != nil {
		return nil, err
	}
	b.Member, err = fleet.New(fleet.Config{
		Conn: b.conn, Site: site, Box: name, Host: "host of " + name, Timing: s.timing, Runner: b, Meter: s,
		Capacity: func() float64 { return b.capacity },
		Rate:     func(camera string) float64 { return s.rates[s.number[camera]] },
	})
	if err != nil {
		b.conn.Close()
		return nil, err
	}
	b.Cameras(s.cameras)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	s.mu.Lock()
	s.boxes[name] = b
	s.mu.Unlock()
	return func() { s.running.Go(func() { _ = b.Member.Run(ctx) }) }, nil
}

// crash ends a box as SIGKILL would: without a message. Its leases are looked at for as long as they are
// valid, as if the process did not know that its connection is gone.
func (s *sim) crash(b *box) {
	b.mu.Lock()
	b.crashed = true
	b.mu.Unlock()
	b.conn.Close()
	// Leaving earlier it would try again and again to give up what it has, by a connection that is closed.
	time.AfterFunc(2*s.timing.TTL, b.cancel)
}

// end ends all boxes.
func (s *sim) end() {
	for _, b := range s.alive() {
		s.crash(b)
	}
	s.running.Wait()
}

func (s *sim) all() []*box {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*box, 0, len(s.boxes))
	for i := range len(s.boxes) {
		list = append(list, s.boxes[fmt.Sprintf("box%03d", i)])
	}
	return list
}

func (s *sim) alive() (list []*box) {
	for _, b := range s.all() {
		if !b.gone() {
			list = append(list, b)
		}
	}
	return list
}

func (b *box) gone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.crashed
}

// Prepare has nothing to dial.
func (*box) Prepare(context.Context, string) error { return nil }

// Run notes the leases.
func (b *box) Run(_ context.Context, leases []*fleet.Lease) map[string]error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashed {
		return nil
	}
	next := make(map[int]*fleet.Lease, len(leases))
	for _, l := range leases {
		i := b.sim.number[l.Camera]
		next[i] = l
		if old := b.leases[i]; old == nil || old.Token != l.Token {
			b.sim.took(i, b.name, l)
		}
	}
	b.leases = next
	return nil
}

// took notes that a box has a camera's lease.
func (s *sim) took(i int, box string, l *fleet.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.last[i]
	if l.Token <= old.token {
		return // it has been slow, and another has had it since
	}
	if old.box != "" && old.box != box {
		s.moves = append(s.moves, move{old.box, box, l.Why})
	}
	if old.box != box {
		s.moved = time.Now()
	}
	s.last[i] = holding{box, l.Token}
}

// takeMoves returns the moves since it was asked last.
func (s *sim) takeMoves() []move {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.moves
	s.moves = nil
	return list
}

// quiet is for how long no camera has changed boxes.
func (s *sim) quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.moved)
}

// had are the cameras of a box.
func (b *box) had() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]int, 0, len(b.leases))
	for i := range b.leases {
		list = append(list, i)
	}
	return list
}

// sample looks at all leases and returns who may publish each camera now; nil: no box may.
func (s *sim) sample() []*box {
	holders := make([]*box, len(s.cameras))
	leases := make([]*fleet.Lease, len(s.cameras))
	for _, b := range s.all() {
		b.mu.Lock()
		for i, l := range b.leases {
			if !l.Valid() {
				continue
			}
			// The first one is asked again: it may have ended since.
			if leases[i] != nil && leases[i].Valid() {
				s.doubleHeld++
			}
			if l.Token < s.highest[i] {
				s.tokensFell++
			}
			s.highest[i] = max(s.highest[i], l.Token)
			holders[i], leases[i] = b, l
		}
		b.mu.Unlock()
	}
	return holders
}

// imbalance is by how much the fullest of the boxes that run is fuller than all together.
func (s *sim) imbalance() float64 {
	var fullest, load, capacity float64
	for _, b := range s.alive() {
		one := s.load(b)
		fullest = max(fullest, one/b.capacity)
		load += one
		capacity += b.capacity
	}
	return fullest/(load/capacity) - 1
}

func (s *sim) load(b *box) (load float64) {
	for _, i := range b.had() {
		load += s.rates[i]
	}
	return load
}

// mean is the share of the capacity of all boxes that run which is in use.
func (s *sim) mean() float64 {
	var load, capacity float64
	for _, b := range s.alive() {
		load += s.load(b)
		capacity += b.capacity
	}
	return load / capacity
}

// Taken, Given, Lapsed and Fenced are the Meter's.
func (s *sim) Taken(fleet.Why, time.Duration) {}

// Given is one that was given away.
func (s *sim) Given(fleet.Why) {}

// Lapsed is a time in which nothing could be published.
func (s *sim) Lapsed() { s.lapsed.Add(1) }

// Fenced is a box whose session another one has ended.
func (s *sim) Fenced() { s.fenced.Add(1) }
