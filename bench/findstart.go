package main

import (
	"bytes"
	"encoding/json"
)

// findStart returns the first entry that is so. Half a line, of a process that
// was killed, is passed over.
func findStart(data []byte, is func(started) bool) *started {
	for line := range bytes.Lines(data) {
		var entry started
		if json.Unmarshal(line, &entry) == nil && is(entry) {
			return &entry
		}
	}
	return nil
}
