package mrf

// heap is a binary min-heap of nodes whose keys may change; of equal keys the
// lower node comes first.
type heap struct {
	key   []float64 // by node
	place []int32   // by node: index in items, -1 outside
	items []int32
}

func (h *heap) reset(n int) {
	h.key, h.place = grown(h.key, n), grown(h.place, n)
	for i := range h.place {
		h.place[i] = -1
	}
	h.items = h.items[:0]
}

func (h *heap) len() int { return len(h.items) }

func (h *heap) has(i int32) bool { return h.place[i] >= 0 }

func (h *heap) push(i int32, key float64) {
	h.key[i], h.place[i] = key, int32(len(h.items))
	h.items = append(h.items, i)
	h.up(len(h.items) - 1)
}

func (h *heap) update(i int32, key float64) {
	h.key[i] = key
	h.up(int(h.place[i]))
	h.down(int(h.place[i]))
}

func (h *heap) pop() int32 {
	top := h.items[0]
	h.swap(0, len(h.items)-1)
	h.items = h.items[:len(h.items)-1]
	h.place[top] = -1
	h.down(0)
	return top
}

func (h *heap) less(a, b int) bool {
	i, j := h.items[a], h.items[b]
	return h.key[i] < h.key[j] || h.key[i] == h.key[j] && i < j
}

func (h *heap) swap(a, b int) {
	h.items[a], h.items[b] = h.items[b], h.items[a]
	h.place[h.items[a]], h.place[h.items[b]] = int32(a), int32(b)
}

func (h *heap) up(k int) {
	for k > 0 && h.less(k, (k-1)/2) {
		h.swap(k, (k-1)/2)
		k = (k - 1) / 2
	}
}

func (h *heap) down(k int) {
	for {
		c := 2*k + 1
		if c+1 < len(h.items) && h.less(c+1, c) {
			c++
		}
		if c >= len(h.items) || !h.less(c, k) {
			return
		}
		h.swap(k, c)
		k = c
	}
}
