package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

// A schema costs milliseconds, in each command: a configuration compiles those of the handlers that it names.
func TestHandlersThatNoJobTypeNamesCostNothing(t *testing.T) {
	text := []config.Source{{Name: "a.yaml", Data: []byte("version: 1\ntemporal: {namespace: a}\n")}}
	allocations := func(handlers ...jobtype.Descriptor) float64 {
		return testing.AllocsPerRun(5, func() {
			_, err := config.Load(config.Options{Sources: text, Handlers: handlers})
			require.NoError(t, err)
		})
	}
	without := allocations()
	with := allocations(jobtype.Descriptor{Name: "a", Params: []byte(`{"type": "object", "properties": {"a": {"type": "string"}}}`)})
	assert.Less(t, with, without+50)
}
