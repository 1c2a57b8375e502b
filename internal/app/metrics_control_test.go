package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/runend"
	"github.com/roundsman/roundsman/starter"
)

const (
	alertsFile    = "../../deploy/prometheus/alerts.yaml"
	dashboardFile = "../../deploy/grafana/roundsman.json"
)

func busy(context.Context) (usage, error) {
	return usage{
		admission: contract.AdmissionUsage{
			Waiting: 3, OldestAt: time.Now().Add(-time.Hour), HeldKeys: map[string]int{"scrub": 2}, DisabledTypes: []string{"gc"},
			Lanes: []contract.LaneUsage{{Name: "repair", Busy: true, Waiting: 1}},
			Pools: []contract.PoolUsage{{Name: "db", Size: 4, Used: 3, Waiting: 2}},
		},
		workers: []contract.WorkerDetail{{State: contract.WorkerOnline}, {State: contract.WorkerOnline}, {State: contract.WorkerOffline}},
	}, nil
}

func page(t *testing.T, collectors ...prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, collector := range collectors {
		require.NoError(t, registry.Register(collector))
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return answer.Body.String()
}

func TestControlPlaneShowsWhatIsUsedAndWaitedFor(t *testing.T) {
	t.Parallel()
	text := page(t, newControlMetrics(busy))
	for _, line := range []string{
		"roundsman_control_up 1", "roundsman_queue_length 3", "roundsman_queue_oldest_wait_seconds 3600.",
		`roundsman_held_keys{job_type="scrub"} 2`, `roundsman_job_type_disabled{job_type="gc"} 1`,
		`roundsman_lane_in_use{lane="repair"} 1`, `roundsman_lane_waiting{lane="repair"} 1`, `roundsman_lane_oldest_wait_seconds{lane="repair"} 0`,
		`roundsman_pool_size{pool="db"} 4`, `roundsman_pool_in_use{pool="db"} 3`, `roundsman_pool_waiting{pool="db"} 2`,
		`roundsman_workers{state="ONLINE"} 2`, `roundsman_workers{state="OFFLINE"} 1`, `roundsman_workers{state="DRAINING"} 0`,
	} {
		assert.Contains(t, text, line)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestScrapersShareOneQuestion(t *testing.T) {
	t.Parallel()
	asked, fault := 0, errors.New("nobody answers")
	m := newControlMetrics(func(ctx context.Context) (usage, error) {
		asked++
		_, bounded := ctx.Deadline()
		assert.True(t, bounded)
		return usage{}, fault
	})
	for range 3 {
		text := page(t, m)
		assert.Contains(t, text, "roundsman_control_up 0")
		assert.NotContains(t, text, "roundsman_queue_length ", "what is not known is not 0")
	}
	assert.Equal(t, 1, asked)
	_, err := m.current(time.Now().Add(usageAge + time.Second))
	assert.Equal(t, fault, err)
	assert.Equal(t, 2, asked)
}

// described returns the names of all our metrics.
func described(t *testing.T) []string {
	t.Helper()
	name := regexp.MustCompile(`fqName: "([a-z_]+)"`)
	descs := make(chan *prometheus.Desc, 100)
	for _, collector := range []prometheus.Collector{
		newControlMetrics(busy), runend.New(starter.DataConverter(), slog.New(slog.DiscardHandler)), describeNode("n1"), newRetentionMetrics(nil), newNotifyMetrics(&starter.Client{}),
	} {
		collector.Describe(descs)
	}
	close(descs)
	var names []string
	for desc := range descs {
		names = append(names, name.FindStringSubmatch(desc.String())[1])
	}
	return names
}

func TestEveryMetricInRulesDashboardAndDocumentExists(t *testing.T) {
	t.Parallel()
	known, word := described(t), regexp.MustCompile(`roundsman_[a-z_]+`)
	for _, file := range []string{alertsFile, dashboardFile, "../../docs/operations.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		used := word.FindAllString(string(text), -1)
		require.NotEmpty(t, used, file)
		for _, name := range used {
			assert.True(t, slices.Contains(known, name) || name == "roundsman_worker_", "%s uses %s, which nothing shows", file, name)
		}
	}
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, name := range known {
		if !strings.HasPrefix(name, "roundsman_worker_") {
			assert.Contains(t, string(document), "| `"+name+"` |", "it is not documented")
		}
	}
}

func TestDashboardIsJSONWithQueries(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			assert.NotEmpty(t, target.Expr, panel.Title)
		}
	}
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", alertsFile).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "12 rules found")
	broken := bytes.ReplaceAll(mustRead(t, alertsFile), []byte("absent("), []byte("absent_("))
	file := t.TempDir() + "/broken.yaml"
	require.NoError(t, os.WriteFile(file, broken, 0o600))
	assert.Error(t, exec.CommandContext(t.Context(), promtool, "check", "rules", file).Run(), "promtool accepts anything")

	out, err = exec.CommandContext(t.Context(), promtool, "test", "rules", "testdata/alerts_test.yaml", "testdata/alerts_weeks_test.yaml").CombinedOutput()
	require.NoError(t, err, string(out))
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}
