package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestControlPlanesAndTheirVersions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	polls := func(identity, version string, ago time.Duration) *taskqueuepb.PollerInfo {
		return &taskqueuepb.PollerInfo{
			Identity: identity, LastAccessTime: timestamppb.New(now.Add(-ago)),
			WorkerVersionCapabilities: &commonpb.WorkerVersionCapabilities{BuildId: version}, //nolint:staticcheck // see workers.ControlOptions.Version
		}
	}
	old := strings.Repeat("0f", 16)
	for _, c := range []struct {
		name     string
		pollers  []*taskqueuepb.PollerInfo
		running  []string
		versions int
	}{
		{name: "none"},
		{"two of one version", []*taskqueuepb.PollerInfo{polls("b@h/2", "v1", 0), polls("a@h/1", "v1", time.Minute)}, []string{"a@h/1 (v1)", "b@h/2 (v1)"}, 1},
		{"an upgrade", []*taskqueuepb.PollerInfo{polls("a@h/1", "v1", 0), polls("b@h/2", "v2", 0)}, []string{"a@h/1 (v1)", "b@h/2 (v2)"}, 2},
		{"one that is gone", []*taskqueuepb.PollerInfo{polls("a@h/1", "v1", 2*time.Minute), polls("b@h/2", "v2", 0)}, []string{"b@h/2 (v2)"}, 1},
		{"one that tells no version", []*taskqueuepb.PollerInfo{polls("a@h/1", old, 0), polls("b@h/2", "v2", 0)}, []string{"a@h/1 (an unknown version)", "b@h/2 (v2)"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			running, versions := controlPlanes(c.pollers, now)
			assert.Equal(t, c.running, running)
			assert.Equal(t, c.versions, versions)
		})
	}
}
