package clitest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// Outcome is the result of a command.
type Outcome struct {
	T              *testing.T
	Code           int
	Stdout, Stderr string
}

// OK requires exit code 0.
func (o Outcome) OK() Outcome {
	o.T.Helper()
	require.Equal(o.T, ui.ExitOK, o.Code, "stdout: %s\nstderr: %s", o.Stdout, o.Stderr)
	return o
}

// Exits requires the exit code.
func (o Outcome) Exits(code int) Outcome {
	o.T.Helper()
	require.Equal(o.T, code, o.Code, "stdout: %s\nstderr: %s", o.Stdout, o.Stderr)
	return o
}

// Says checks that the standard output has these parts.
func (o Outcome) Says(parts ...string) Outcome {
	o.T.Helper()
	for _, part := range parts {
		assert.Contains(o.T, o.Stdout, part)
	}
	return o
}

// Complains asserts on standard error.
func (o Outcome) Complains(parts ...string) Outcome {
	o.T.Helper()
	for _, part := range parts {
		assert.Contains(o.T, o.Stderr, part)
	}
	return o
}

// Decode reads standard output as exactly one JSON value.
func Decode[T any](o Outcome) T {
	o.T.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(o.Stdout))
	require.NoError(o.T, decoder.Decode(&value), o.Stdout)
	require.False(o.T, decoder.More(), "more than one value: %s", o.Stdout)
	return value
}
