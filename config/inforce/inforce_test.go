package inforce_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/config/inforce"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const every = `version: 1
owner: storage
lanes:
  disk: {}
  tape: {exclusive: false, windows: [{days: [mon-sun], from: "00:00", to: "12:00", timezone: Europe/Berlin}]}
resources: {db: 3, net: 7}
cluster: {filers: [a, b], deep: {n: 1.5}}
job_types:
  plain:
    handler: own
    schedule: {every: 1h}
  written:
    handler: own
    schedule: {every: 90m, spread: none, jitter: 5m, first_run: scheduled}
    policy: {retry_limit: 4, max_runtime: 2h, on_disconnect: stop, catchup_window: 30m, interactive: true}
    params: {text: "22:00", list: [1, "2", true, null], nested: {a: {b: c}}}
    execute: {command: [echo, "{{.Params.item}}"], env: {TOKEN: secret}}
  zero:
    handler: own
    policy: {retry_limit: 0, stall_timeout: 7s, stop_after: 3s}
  crons:
    handler: own
    description: "Moves: everything # really"
    schedule: {cron: ["0 2 * * *", "30 3 * * *"], timezone: Europe/Berlin, days: [mon-fri, last], except_holidays: free.txt, first_run: now}
    lane: tape
    windows: [{days: [mon-fri], from: "22:00", to: "05:00"}]
    blackouts: [{from: 2026-12-24T12:00, to: 2026-12-27T06:00, note: "yes"}, {holidays: free.txt}]
    after: {plain: {succeeded_within: 24h}}
    run_if_not_succeeded_for: 20h
    resources: {db: 2}
    retry_budget: {per_key: {count: 3}, per_type: {hard_timeout: 2h}}
    notify: [{on: [failed], to: [pager]}, {not_succeeded_for: 3d, to: [pager]}]
    enabled: false
  many:
    handler: own
    schedule: {every: 6h, offset: 17m}
    detect_on: every
    labels: {role: storage}
    lane: disk
    batch: {by: "{{.Labels.volume}}", max_size: 7}
  graph:
    dag: dags/main.yaml
    schedule: {every: 1d}
    approvals_keep_lane: true
    params: {size: 3}
    policy: {max_runtime: 3h}
`

func files() map[string]string {
	return map[string]string{
		"free.txt":       "2026-12-25\n2027-01-01 new year\n",
		"dags/main.yaml": "version: 1\nname: main\nparams: {size: 1}\ntasks:\n  - {id: a, command: [echo, hi]}\n  - {id: b, dag: sub.yaml, needs: a}\n",
		"dags/sub.yaml":  "version: 1\nname: sub\ntasks:\n  - {id: c, command: [\"true\"]}\n",
	}
}

func handlers() []jobtype.Descriptor {
	return []jobtype.Descriptor{{
		Name: "own", Batches: true, DefaultInterval: jobtype.Duration(12 * time.Hour),
		DetectSettings: json.RawMessage(`{}`), ExecuteSettings: json.RawMessage(`{}`), Params: json.RawMessage(`{}`),
		DefaultPolicy: jobtype.Policy{RetryLimit: 2, MaxRuntime: jobtype.Duration(time.Hour), StallTimeout: jobtype.Duration(9 * time.Second)},
	}}
}

// others are handlers of the examples.
func others() []jobtype.Descriptor {
	names := []string{"admin_script", "vacuum", "volume_balance", "ec_balance", "erasure_coding"}
	all := handlers()
	for _, name := range names {
		one := handlers()[0]
		one.Name = name
		all = append(all, one)
	}
	return all
}

func load(t *testing.T, sources ...config.Source) *config.Config {
	t.Helper()
	loaded, err := config.Load(config.Options{Sources: sources, Handlers: others(), AllowUnregistered: true})
	require.NoError(t, err)
	return loaded
}

func specs(t *testing.T, loaded *config.Config) []contract.JobTypeSpec {
	t.Helper()
	made, err := loaded.Specs()
	require.NoError(t, err)
	return made
}

func disabled(loaded *config.Config) map[string]bool {
	off := map[string]bool{}
	for name, on := range loaded.Enabled() {
		off[name] = !on
	}
	return off
}

// Applying the written configuration would change nothing.
func TestTheWrittenConfigurationMeansTheSame(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Name: "a", Data: []byte(every), Files: files()})
	was := specs(t, loaded)
	written, err := inforce.Of("storage", was, disabled(loaded), handlers())
	require.NoError(t, err)
	again := load(t, config.Source{Name: "b", Data: []byte(written.Text), Files: written.Files})
	assert.Equal(t, was, specs(t, again), "%s", written.Text)
	assert.Equal(t, loaded.Enabled(), again.Enabled())
	assert.Contains(t, written.Text, "  plain:\n    handler: own\n    schedule:\n      every: 1h\n  written:", "defaults are not written")
}

// An entry has the same spec alone and in the whole configuration.
func TestAnEntryAloneMeansTheSame(t *testing.T) {
	t.Parallel()
	was := specs(t, load(t, config.Source{Name: "a", Data: []byte(every), Files: files()}))
	for _, spec := range was {
		around, err := inforce.Around("storage", spec.Name, was, handlers())
		require.NoError(t, err)
		entry, own, err := inforce.Entry(spec, handlers())
		require.NoError(t, err)
		text, err := inforce.One(spec.Name, entry)
		require.NoError(t, err)
		loaded := load(t, config.Source{Name: "one", Data: []byte(text), Files: own}, config.Source{Name: "around", Data: []byte(around.Text), Files: around.Files})
		all := specs(t, loaded)
		at := slices.IndexFunc(all, func(one contract.JobTypeSpec) bool { return one.Name == spec.Name })
		require.GreaterOrEqual(t, at, 0, text)
		again := all[at]
		again.AwaitedBy, again.Hash = spec.AwaitedBy, spec.Hash
		assert.Equal(t, spec, again, "%s\n%s", text, around.Text)
	}
}

func TestTheExamplesMeanTheSame(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("../../examples/*/roundsman*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, file := range found {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		loaded := load(t, config.Source{Name: file, Data: text, Dir: filepath.Dir(file)})
		was := specs(t, loaded)
		written, err := inforce.Of(loaded.Owner, was, disabled(loaded), others())
		require.NoError(t, err)
		assert.Equal(t, was, specs(t, load(t, config.Source{Name: "again", Data: []byte(written.Text), Files: written.Files})), "%s\n%s", file, written.Text)
	}
}

// A configuration with files in memory reads no other file.
func TestFilesInMemoryAreTheOnlyOnes(t *testing.T) {
	t.Parallel()
	text := "version: 1\njob_types: {a: {dag: ../x/../../etc/passwd, schedule: {every: 1h}}}\n"
	_, err := config.Load(config.Options{Sources: []config.Source{{Name: "a", Data: []byte(text), Files: map[string]string{"x.yaml": ""}}}})
	require.ErrorContains(t, err, "file does not exist: name a file at or below the folder of the configuration (1 files came with it)")
}
