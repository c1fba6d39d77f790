package bus

import (
	"errors"
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	tests := []struct {
		site, camera string
		want, err    string
	}{
		{"home", "demo", "segd.v1.home.demo.mask", ""},
		{"Site-1", "cam_02", "segd.v1.Site-1.cam_02.mask", ""},
		{"", "demo", "", "site: bus: bad name: it is empty"},
		{"home", "", "", "camera: bus: bad name: it is empty"},
		{"home", "a.b", "", `bad name "a.b": character '.'`},
		{"home", "*", "", "character '*'"},
		{"home", ">", "", "character '>'"},
		{"home", "front door", "", "character ' '"},
		{"home", "tür", "", "character 'ü'"},
		{"home", "a\x00", "", `character '\x00'`},
		{"home", "a\r\nPUB x 0", "", `character '\r'`},
	}
	for _, tt := range tests {
		got, err := Subject(tt.site, tt.camera, KindMask)
		if tt.err != "" {
			if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Subject(%q, %q) = %v, want an ErrName with %q", tt.site, tt.camera, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("Subject(%q, %q) = %q, %v; want %q", tt.site, tt.camera, got, err, tt.want)
		}
	}
}

func TestPattern(t *testing.T) {
	tests := []struct{ target, want, err string }{
		{"demo", "segd.v1.*.demo.mask", ""},
		{"segd.v1.home.demo.event", "segd.v1.home.demo.event", ""},
		{"segd.v1.*.*.status", "segd.v1.*.*.status", ""},
		{"segd.v1.>", "segd.v1.>", ""},
		{"*", "*", ""},
		{"", "", "it is empty"},
		{"front door", "", "character ' '"},
		{"segd..x", "", "token 2: bus: bad name: it is empty"},
		{"segd.>.mask", "", "token 2"},
		{"segd.v1*.x", "", "token 2"},
		{"a.b\r\n", "", `character '\r'`},
	}
	for _, tt := range tests {
		got, err := Pattern(tt.target)
		if tt.err != "" {
			if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Pattern(%q) = %q, %v; want an ErrName with %q", tt.target, got, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("Pattern(%q) = %q, %v; want %q", tt.target, got, err, tt.want)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"demo", "segd.v1.*.demo.mask", "segd.>", "a b", "..", "x\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Pattern(s)
		if err == nil && (p == "" || strings.ContainsAny(p, " \t\r\n\x00") || strings.Contains(p, "..")) {
			t.Errorf("Pattern(%q) = %q", s, p)
		}
	})
}
