package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

func TestHalfMoved(t *testing.T) {
	t.Parallel()
	replica := func(size uint64, readOnly bool, placement uint32) plan.Volume {
		return plan.Volume{ID: 7, Collection: "c", Size: size, ReadOnly: readOnly, Placement: placement}
	}
	for name, c := range map[string]struct {
		replicas       []plan.Volume
		source, target string
	}{
		"a copy that takes writes beside its source": {[]plan.Volume{replica(9, true, 0), replica(9, false, 0)}, "a:1", "b:1"},
		"the copy took writes already":               {[]plan.Volume{replica(12, false, 0), replica(9, true, 0)}, "b:1", "a:1"},
		"as many as the placement asks for":          {[]plan.Volume{replica(9, true, 1), replica(9, false, 1)}, "", ""},
		"both take writes":                           {[]plan.Volume{replica(9, false, 0), replica(9, false, 0)}, "", ""},
		"neither takes writes":                       {[]plan.Volume{replica(9, true, 0), replica(9, true, 0)}, "", ""},
		"the replica of its size is the copy":        {[]plan.Volume{replica(9, true, 1), replica(8, false, 1), replica(9, false, 1)}, "a:1", "c:1"},
		"two can be the copy":                        {[]plan.Volume{replica(9, true, 1), replica(9, false, 1), replica(9, false, 1)}, "", ""},
		"two copies too many":                        {[]plan.Volume{replica(9, true, 0), replica(9, false, 0), replica(9, false, 0)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topology := plan.Topology{LimitBytes: 100}
			for i, v := range c.replicas {
				topology.Servers = append(topology.Servers, plan.Server{
					Address: string(rune('a'+i)) + ":1", Disks: []plan.Disk{{Type: "hdd", Max: 9, Volumes: []plan.Volume{v}}},
				})
			}
			filter, err := plan.NewFilter("", "", "", "", "")
			require.NoError(t, err)
			found := plan.HalfMoved(topology, filter, 10)
			if c.source == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, []string{c.source, c.target}, []string{found[0].Source, found[0].Target})
			require.Empty(t, plan.HalfMoved(topology, filter, 0))
			none, err := plan.NewFilter("^other$", "", "", "", "")
			require.NoError(t, err)
			require.Empty(t, plan.HalfMoved(topology, none, 10))
		})
	}
}
