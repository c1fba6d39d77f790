// Package npytest makes files for tests of what reads NumPy arrays.
package npytest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// File returns a file as NumPy writes it: the header padded to a multiple of 64.
func File(t testing.TB, descr, shape string, data any) []byte {
	t.Helper()
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	for _, v := range []any{uint16(len(header)), []byte(header), data} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
