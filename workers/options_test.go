package workers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workers"
)

// described is a handler with the descriptor of an author.
type described struct {
	jobtype.Handler

	descriptor jobtype.Descriptor
}

func (d described) Descriptor() jobtype.Descriptor { return d.descriptor }

// A faulty descriptor cannot be registered, or a limit would be ignored: the worker does not start with it.
func TestFaultyDescriptorsAreRefused(t *testing.T) {
	t.Parallel()
	for text, descriptor := range map[string]jobtype.Descriptor{
		"":                                  {Name: "fine"},
		"name \"Fine\" must start with":     {Name: "Fine"},
		"max_execute_concurrency must not":  {Name: "x", MaxExecuteConcurrency: -1},
		"params: a JSON Schema must be":     {Name: "x", Params: json.RawMessage(`{`)},
		"default_interval: 1ns must be":     {Name: "x", DefaultInterval: 1},
		"retry_limit: -3 is out of range":   {Name: "x", DefaultPolicy: jobtype.Policy{RetryLimit: -3}},
		"execute_only and detect_only excl": {Name: "x", ExecuteOnly: true, DetectOnly: true},
	} {
		err := workers.NodeOptions{ID: "node-a", Handlers: []jobtype.Handler{described{descriptor: descriptor}}, DrainTimeout: time.Second}.WithDefaults().Validate()
		if text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, text)
	}
}
