package resident

import (
	"runtime"
	"testing"
)

// What is written to is resident.
func TestMB(t *testing.T) {
	before, err := MB()
	if err != nil || before < 1 {
		t.Fatalf("%v MiB, %v", before, err)
	}
	const mib = 64
	block := make([]byte, mib<<20)
	for i := range block {
		block[i] = 1
	}
	after, err := MB()
	if err != nil || after < before+mib/2 {
		t.Errorf("%v MiB after %v and %d more, %v", after, before, mib, err)
	}
	runtime.KeepAlive(block)
}
