package daemon

import "testing"

// The network leaves half of the cores to what goes on beside it.
func TestNetworkThreads(t *testing.T) {
	for _, tt := range []struct{ cores, cameras, want int }{{1, 1, 1}, {2, 1, 1}, {8, 0, 4}, {8, 1, 4}, {8, 3, 1}, {32, 2, 8}, {2, 10, 1}} {
		if got := networkThreads(tt.cores, tt.cameras); got != tt.want {
			t.Errorf("%d cores, %d cameras: %d threads; want %d", tt.cores, tt.cameras, got, tt.want)
		}
	}
}
