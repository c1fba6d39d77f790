//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/mask"
)

// vector is a mask the page must decode.
type vector struct {
	Name   string `json:"name"`
	Counts string `json:"counts"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Bits   string `json:"bits"` // row-major, 0 or 1 a pixel
}

// golden are strings that pycocotools 2.0.11 wrote (mask.encode), so that the
// page and package mask cannot be wrong together.
var golden = []vector{
	{"empty", "6", 3, 2, "000000"},
	{"full", "06", 3, 2, "111111"},
	{"first pixel", "015", 3, 2, "100000"},
	{"diagonal", "013000", 3, 3, "100010001"},
	{"ring", "m0284N0O2OKN02O000000000001N0251N102L9", 16, 12, "" +
		"0000000000000000000000000000000000000111111100000001111111111100" +
		"0001111000111100001111000001111000111100000111100001111000111100" +
		"0001111111111100000001111111000000000000000000000000000000000000"},
}

// decodes decodes masks in the page, with the page's own modules, and
// compares them with the pictures they were made of. The area enclosed by the
// outline must also be the mask's area.
func (w *world) decodes(ctx context.Context, t *testing.T) {
	vectors, err := json.Marshal(slices.Concat(golden, madeVectors()))
	require.NoError(t, err)
	var wrong []string
	require.NoError(t, w.desk.Evaluate(ctx, fmt.Sprintf(decodeInPage, vectors), &wrong), "checking the page's decoder")
	if len(wrong) > 0 {
		t.Fatalf("the page decodes %d masks wrongly: %v", len(wrong), wrong)
	}
}

const decodeInPage = `(async () => {
  const { decode, parseCounts } = await import("/assets/rle.js");
  const { polygons } = await import("/assets/outline.js");
  const wrong = [];
  for (const v of %s) {
    const m = decode(parseCounts(v.counts), v.width, v.height);
    const want = [...v.bits].map(Number);
    const got = new Array(v.width * v.height).fill(0);
    for (let y = 0; y < m.height; y++)
      for (let x = 0; x < m.width; x++) got[(y + m.top) * v.width + x + m.left] = m.bits[y * m.width + x];
    if (got.some((b, i) => b !== want[i])) wrong.push(v.name);
    let twice = 0;
    for (const l of polygons(m))
      for (let i = 0; i < l.length; i += 2)
        twice += l[i] * l[(i + 3) %% l.length] - l[(i + 2) %% l.length] * l[i + 1];
    if (twice / 2 !== want.reduce((a, b) => a + b, 0)) wrong.push(v.name + " (outline)");
  }
  for (const text of ["0", "07", "o", "O", "5 1"]) {
    try { decode(parseCounts(text), 3, 2); wrong.push("took " + text); } catch { /* as it should */ }
  }
  return wrong;
})()`

// madeVectors are masks that package mask encodes: noise, which has every kind
// of corner, and one pixel alone, which has long runs.
func madeVectors() []vector {
	random := rand.New(rand.NewPCG(7, 7))
	alone := make([]uint8, 1280*720)
	alone[1280*500+1000] = 1
	vectors := []vector{encode("one pixel", alone, 1280, 720)}
	for _, size := range [][2]int{{1, 1}, {1, 40}, {40, 1}, {7, 5}, {33, 20}, {64, 48}, {160, 120}} {
		for _, density := range []float64{0.02, 0.5, 0.98} {
			bits := make([]uint8, size[0]*size[1])
			for i := range bits {
				if random.Float64() < density {
					bits[i] = 1
				}
			}
			vectors = append(vectors, encode(fmt.Sprintf("noise %v at %v", size, density), bits, size[0], size[1]))
		}
	}
	return vectors
}

func encode(name string, bits []uint8, width, height int) vector {
	text := make([]byte, len(bits))
	for i, b := range bits {
		text[i] = '0' + b
	}
	return vector{name, mask.Encode(bits, width, height).String(), width, height, string(text)}
}
