package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

// A thousand workers with full histories and large descriptors must pass
// through continue-as-new: the server refuses inputs over 2 MiB.
func TestFleetStateOfAThousandWorkersIsSmall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := &fleetRun{core: fleet.New(fleet.Config{}, now), registrations: map[string]contract.WorkerRegistration{}, watchers: map[string]*watcher{}}
	schema := fmt.Appendf(nil, `{"type":"object","description":%q}`, fmt.Sprint(make([]int, 2000)))
	for i := range 1000 {
		id := fmt.Sprintf("node-%04d", i)
		who := fleet.Identity{ID: id, Instance: fmt.Sprintf("%x", uint64(i+1)*0x9E3779B97F4A7C15)}
		f.core.Next(now, fleet.Register{Identity: who, Host: id + ".example.org", PID: i * 31})
		f.registrations[id] = f.descriptors.share(contract.WorkerRegistration{
			ID: id, Instance: who.Instance, Host: id + ".example.org", PID: i * 31, Labels: map[string]string{"rack": fmt.Sprint(i % 40)},
			Capabilities: []contract.Capability{{Handler: "scrub", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "scrub", Params: schema}}},
		})
		for j := range fleet.MaxTransitions {
			at := now.Add(time.Duration(uint64(i*1000+j)*0x9E3779B97F4A7C15%86_400_000) * time.Millisecond)
			action := fleet.Cordon
			if j%2 == 1 {
				action = fleet.Uncordon
			}
			f.core.Next(at, fleet.Operate{ID: id, Action: action, By: "ann", Reason: fmt.Sprintf("ticket %d", i*j)})
		}
	}
	packed, err := f.pack()
	require.NoError(t, err)
	t.Logf("%d bytes", len(packed))
	assert.Less(t, len(packed), maxCarryBytes/4*3)

	restored := &fleetRun{registrations: map[string]contract.WorkerRegistration{}, watchers: map[string]*watcher{}}
	require.NoError(t, restored.restore(fleet.Config{}, packed))
	assert.Equal(t, f.core.View(), restored.core.View(), "with all transitions")
	assert.Equal(t, f.registrations, restored.registrations)
	assert.Len(t, restored.descriptors.byDigest, 1, "one descriptor for all")
	assert.Error(t, restored.restore(fleet.Config{}, []byte("not gzip")))
}
