package figure_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/bench/figure"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		row     string
		n       int
		figures map[string]float64
		want    string
	}{
		{"at the bound", "worker_kill", 1, map[string]float64{figure.Value: 5.5}, `[{"of":"value","most":5.5,"met":true}]`},
		{"above the bound", "worker_kill", 1, map[string]float64{figure.Value: 5.57}, `[{"of":"value","most":5.5,"met":false}]`},
		{"below the least", "fanout_worker", 1000, map[string]float64{figure.Value: 700, figure.Ratio: 0.9}, `[{"of":"ratio","least":0.95,"met":false}]`},
		{"no figure is no verdict", "fanout_worker", 1000, map[string]float64{figure.Value: 700}, `null`},
		{"a figure that is no number", "worker_kill", 1, map[string]float64{figure.Value: math.NaN()}, `[{"of":"value","most":5.5,"met":false}]`},
		{"a bound of one size", "group_million", 100_000, map[string]float64{"control_plane_peak_mb": 121}, `[{"of":"control_plane_peak_mb","most":120,"met":false}]`},
		{"not of another size", "group_million", 10_000, map[string]float64{"control_plane_peak_mb": 121}, `null`},
		{"a row without targets", "idle_events_per_hour", 20, map[string]float64{figure.Value: 1}, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			encoded, err := json.Marshal(figure.Verdicts(c.row, c.n, c.figures))
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(encoded))
		})
	}
}
