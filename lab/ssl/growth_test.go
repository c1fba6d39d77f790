package ssl

import "testing"

// Twice the samples take more, of time and of memory. Of memory that is certain.
func TestGrowth(t *testing.T) {
	steps := 0
	g, err := MeasureGrowth(t.Context(), []int{60, 240}, func(done, total int) {
		if steps++; done != steps || total != 2*growthRuns {
			t.Errorf("step %d of %d; want %d of %d", done, total, steps, 2*growthRuns)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// A number of each row takes 8 bytes once; the Gram matrix and its factor do not grow.
	if least := 180 * growthColumns * 8.0; len(g.Bytes) != 2 || g.Bytes[1]-g.Bytes[0] < least || g.BytesExponent <= 0 || g.BytesExponent > 1.2 {
		t.Errorf("%+v; want at least %g bytes more, and an exponent up to 1", g, least)
	}
	if g.Seconds[0] <= 0 || g.Seconds[1] <= 0 {
		t.Errorf("seconds %v", g.Seconds)
	}
}
