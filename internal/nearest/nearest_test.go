package nearest

import "testing"

func TestHint(t *testing.T) {
	known := []string{"url", "transport", "fps", "detect"}
	for word, want := range map[string]string{
		"transprt": " (did you mean transport?)", "Detcet": " (did you mean detect?)", "ulr": "", "urll": " (did you mean url?)",
		"colour": "", "": "", "f": "",
	} {
		if got := Hint(word, known); got != want {
			t.Errorf("Hint(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Hint("url", nil); got != "" {
		t.Errorf("of no words: %q", got)
	}
}
