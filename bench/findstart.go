package main

import (
	"bytes"
	"encoding/json"
)

// findStart returns the first entry for which is returns true. It skips an incomplete line of a killed process.
func findStart(data []byte, is func(started) bool) *started {
	for line := range bytes.Lines(data) {
		var entry started
		if json.Unmarshal(line, &entry) == nil && is(entry) {
			return &entry
		}
	}
	return nil
}
