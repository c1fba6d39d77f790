// Package coco has the names of the classes of COCO's detection task, which detectors are trained on.
package coco

import (
	_ "embed" // the names
	"fmt"
	"strings"
)

//go:embed names.txt
var text string

// Names are the 80 classes, in the order of every model trained on them.
func Names() []string { return strings.Split(strings.TrimSpace(text), "\n") }

// ParseNames reads the names of a model's classes, one a line in their order.
func ParseNames(text string) ([]string, error) {
	names := strings.Split(strings.TrimSpace(text), "\n")
	for i, n := range names {
		if names[i] = strings.TrimSpace(n); names[i] == "" {
			return nil, fmt.Errorf("line %d is empty; want a name a line", i+1)
		}
	}
	return names, nil
}

// Group is the first of the classes that a detector takes for one another: a van is found as a car and as a truck.
func Group(class string) string {
	switch class {
	case "truck", "bus":
		return "car"
	}
	return class
}
