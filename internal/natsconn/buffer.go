package natsconn

// buffer holds bytes that have come and were not read. Its memory grows to limit at most;
// it is not given more.
type buffer struct {
	data  []byte // from off on
	off   int
	limit int
}

func (b *buffer) len() int { return len(b.data) - b.off }

func (b *buffer) write(p []byte) {
	if len(b.data)+len(p) > cap(b.data) && b.off > 0 {
		b.data = b.data[:copy(b.data, b.data[b.off:])]
		b.off = 0
	}
	if need := len(b.data) + len(p); need > cap(b.data) {
		grown := make([]byte, len(b.data), max(need, min(2*cap(b.data), b.limit)))
		copy(grown, b.data)
		b.data = grown
	}
	b.data = append(b.data, p...)
}

func (b *buffer) read(p []byte) int {
	n := copy(p, b.data[b.off:])
	b.off += n
	if b.off == len(b.data) {
		b.data, b.off = b.data[:0], 0
	}
	return n
}
