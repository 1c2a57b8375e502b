package devserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/dynamicconfig"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	f, err := parseFlags(nil)
	require.NoError(t, err)
	assert.Equal(t, 7233, f.options.Port)
	assert.Equal(t, 8233, f.options.UIPort)

	o := Options{}.WithDefaults()
	require.NoError(t, o.Validate())
	assert.Equal(t, "default", o.Namespace)
	assert.Equal(t, "warn", o.LogLevel)
	assert.NotNil(t, o.LogOutput)
	assert.Zero(t, o.Port, "0 stays: it asks for a free port")
	assert.Equal(t, o, o.WithDefaults(), "nothing is overwritten")
}

// The names are the contract: operators compare them with other clusters.
func TestDynamicConfig(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"frontend.namespacecount":                   10000,
		"frontend.namespacerps.visibility":          100,
		"frontend.workercommandsenabled":            true,
		"frontend.workerheartbeatsenabled":          true,
		"history.maximumbufferedeventsbatch":        2000,
		"history.timerprocessormaxpollrps":          200,
		"history.timerprocessormaxtimeshift":        10 * time.Millisecond,
		"history.transferprocessormaxpollrps":       200,
		"history.workflowidreuseminimalinterval":    time.Duration(0),
		"matching.enablefairness":                   true,
		"matching.numtaskqueuereadpartitions":       1,
		"matching.numtaskqueuewritepartitions":      1,
		"system.enablecancelactivityworkercommand":  true,
		"worker.schedulernamespacestartworkflowrps": float64(1000),
	}
	got := map[string]any{}
	for key, value := range dynamicConfig() {
		got[key.String()] = value
	}
	assert.Equal(t, want, got)
}

func TestDynamicConfigOfTheCommandLine(t *testing.T) {
	t.Parallel()
	settings, err := withDynamicConfig([]string{"frontend.WorkflowPauseEnabled=true", "matching.enableFairness=false"})
	require.NoError(t, err)
	for key, want := range map[string]any{"frontend.workflowpauseenabled": true, "matching.enablefairness": false} {
		assert.Equal(t, want, settings.GetValue(dynamicconfig.MakeKey(key))[0].Value, key)
	}
	for _, wrong := range []string{"frontend.WorkflowPauseEnabled", "=true", "frontend.NoSuchThing=1", "frontend.WorkflowPauseEnabled=often", "frontend.WorkflowPauseEnabled=[a"} {
		assert.ErrorContains(t, Options{DynamicConfig: []string{wrong}}.WithDefaults().Validate(), "--dynamic-config-value "+wrong)
	}
}

func TestPortsDoNotRepeat(t *testing.T) {
	t.Parallel()
	seen, taken := map[int]bool{}, 0
	for range 50 {
		port, err := freePort(t.Context())
		require.NoError(t, err)
		assert.False(t, seen[port], "port %d was handed out twice", port)
		seen[port] = true
		if _, err = choosePort(t.Context(), "--port", port); err != nil {
			taken++
		}
	}
	assert.Less(t, taken, 5, "a reserved port can be bound by name, unless another process connects from it just then")
}
