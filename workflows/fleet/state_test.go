package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

// A thousand workers with full histories and large descriptors must fit into continue-as-new:
// the server refuses inputs over 2 MiB.
func TestFleetStateOfAThousandWorkersIsSmall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := &run{core: fleet.New(nil, now)}
	schema := fmt.Appendf(nil, `{"type":"object","description":%q}`, fmt.Sprint(make([]int, 2000)))
	for i := range 1000 {
		id := fmt.Sprintf("node-%04d", i)
		f.core.Next(now, fleet.Register{
			ID: id, Instance: fmt.Sprintf("%x", uint64(i+1)*0x9E3779B97F4A7C15), Host: id + ".example.org", PID: i * 31,
			Labels:       map[string]string{"rack": fmt.Sprint(i % 40)},
			Capabilities: []contract.Capability{{Handler: "scrub", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "scrub", Params: schema}}},
		})
		for j := range fleet.MaxTransitions {
			at := now.Add(time.Duration(uint64(i*1000+j)*0x9E3779B97F4A7C15%86_400_000) * time.Millisecond)
			action := contract.CordonWorker
			if j%2 == 1 {
				action = contract.UncordonWorker
			}
			f.core.Next(at, fleet.Operate{ID: id, Action: action, By: "ann", Reason: fmt.Sprintf("ticket %d", i*j)})
		}
	}
	packed, err := f.pack()
	require.NoError(t, err)
	t.Logf("%d bytes", len(packed))
	assert.LessOrEqual(t, len(packed), maxPacked)

	restored := &run{}
	require.NoError(t, restored.restore(contract.FleetInput{State: packed}))
	for _, w := range f.core.Workers(contract.WorkersQueryInput{}).Workers {
		want, _ := f.core.Worker(w.Registration.ID)
		got, _ := restored.core.Worker(w.Registration.ID)
		require.Equal(t, want, got, "with all transitions")
	}
	assert.Equal(t, f.core.Handlers(), restored.core.Handlers())
	assert.Error(t, restored.restore(contract.FleetInput{State: []byte("not gzip")}))
}
