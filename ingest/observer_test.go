package ingest

import (
	"reflect"
	"testing"
)

// No function of an observer stays nil, and none that is there is replaced.
func TestObserverComplete(t *testing.T) {
	told := false
	o := Observer{Up: func(bool) { told = true }}.complete()
	functions := reflect.ValueOf(o)
	for i := range functions.NumField() {
		if functions.Field(i).IsNil() {
			t.Errorf("%s is nil", functions.Type().Field(i).Name)
		}
	}
	if o.Up(false); !told {
		t.Error("the Up that was there is replaced")
	}
}
