package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// sweep is a handler whose descriptor sets every field.
func sweep() jobtype.Descriptor {
	return jobtype.Descriptor{
		Name: "sweep",
		Params: json.RawMessage(`{"type":"object","required":["dir"],"additionalProperties":false,"properties":{
			"dir":{"type":"string"},"depth":{"type":"integer","minimum":1,"maximum":9},"mode":{"enum":["fast","slow"]},
			"globs":{"type":"array","items":{"type":"string"}}}}`),
		ExecuteSettings: json.RawMessage(`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}}}}`),
		DefaultPolicy:   jobtype.Policy{RetryLimit: 2, Liveness: jobtype.LivenessProcess},
		Batches:         true,
	}
}

func plainHandler() jobtype.Descriptor { return jobtype.Descriptor{Name: "plain"} }

func load(yaml string) (*config.Config, error) {
	return loadWith(yaml, nil)
}

func loadWith(yaml string, edit func(*config.Options)) (*config.Config, error) {
	options := config.Options{
		Sources:  []config.Source{{Name: "r.yaml", Data: []byte(yaml)}},
		Handlers: []jobtype.Descriptor{sweep(), plainHandler()},
	}
	if edit != nil {
		edit(&options)
	}
	return config.Load(options)
}

func mustLoad(t *testing.T, yaml string) *config.Config {
	t.Helper()
	loaded, err := load(yaml)
	require.NoError(t, err)
	return loaded
}

const minimal = `version: 1
job_types:
  tidy:
    handler: plain
    schedule: {every: 5m}
`

func TestDefaults(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, minimal)
	assert.Equal(t, config.Temporal{Address: "127.0.0.1:7233", Source: "the default", Namespace: "default"}, loaded.Temporal)
	assert.Equal(t, map[string]config.Lane{}, loaded.Lanes)
	assert.Equal(t, jobtype.Duration(5*time.Second), loaded.Fleet.HeartbeatInterval)
	assert.Empty(t, loaded.Warnings)

	tidy := loaded.JobTypes["tidy"]
	assert.True(t, tidy.Enabled)
	assert.Empty(t, tidy.Lane, "it runs beside all others")
	want := jobtype.DefaultPolicy()
	want.StallTimeout = want.HeartbeatTimeout
	want.CatchupWindow = jobtype.Duration(5 * time.Minute)
	assert.Equal(t, want, tidy.Policy)
}

func TestEverythingWritten(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, `version: 1
temporal:
  address: temporal.example:7233
  namespace: ops
  tls: {cert: c.pem, key: k.pem, ca: ca.pem, server_name: t.example}
lanes: {shared: {exclusive: false}, slow: {}}
resources: {db_connections: 5}
cluster: {name: west, size: 3}
fleet: {heartbeat_interval: 2s, unreachable_after: 10s, offline_after: 30s, delete_after: 7d}
job_types:
  sweep_tmp:
    handler: sweep
    description: Sweeps
    enabled: false
    lane: slow
    schedule: {cron: ["0 2 * * *", "@weekly"], timezone: Europe/Berlin, jitter: 90s}
    policy: {retry_limit: 0, heartbeat_timeout: 10s, catchup_window: 1h, routing: shared}
    params: {dir: /tmp, depth: 3, globs: ["*.log"]}
    execute: {command: [rm, "{{.Params.item}}"]}
`)
	assert.Equal(t, &config.TLS{Cert: "c.pem", Key: "k.pem", CA: "ca.pem", ServerName: "t.example"}, loaded.Temporal.TLS)
	assert.Equal(t, map[string]config.Lane{"shared": {}, "slow": {Exclusive: true}}, loaded.Lanes)
	assert.Equal(t, map[string]int{"db_connections": 5}, loaded.Resources)
	assert.JSONEq(t, `{"name":"west","size":3}`, string(loaded.Cluster))
	assert.Equal(t, jobtype.Duration(7*24*time.Hour), loaded.Fleet.DeleteAfter)
	read := loaded.JobTypes["sweep_tmp"]
	assert.False(t, read.Enabled)
	assert.Equal(t, []string{"0 2 * * *", "@weekly"}, read.Schedule.Cron)
	assert.Equal(t, "Europe/Berlin", read.Schedule.Timezone)
	assert.Equal(t, 0, read.Policy.RetryLimit, "a written zero overrides the handler's default of 2")
	assert.Equal(t, jobtype.LivenessProcess, read.Policy.Liveness, "the handler's default overrides the built-in one")
	assert.Equal(t, jobtype.Duration(10*time.Second), read.Policy.StallTimeout, "follows heartbeat_timeout")
	assert.JSONEq(t, `{"depth":3,"dir":"/tmp","globs":["*.log"]}`, string(read.Params))
	assert.JSONEq(t, `{"command":["rm","{{.Params.item}}"]}`, string(read.Execute))
	assert.Nil(t, read.Detect)
}

func TestCatchupWindowFollowsTheInterval(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string]time.Duration{
		"{every: 1s}":                       10 * time.Second,
		"{every: 2h}":                       2 * time.Hour,
		"{every: 365d}":                     365 * 24 * time.Hour,
		"{cron: '0 2 * * *'}":               24 * time.Hour,
		"{cron: ['0 2 * * *','5 2 * * *']}": 5 * time.Minute,
		"{cron: '0 0 29 2 *'}":              365 * 24 * time.Hour,
	} {
		loaded := mustLoad(t, strings.Replace(minimal, "{every: 5m}", schedule, 1))
		assert.Equal(t, want, loaded.JobTypes["tidy"].Policy.CatchupWindow.Std(), schedule)
	}
}

// faults loads an invalid configuration and returns one line per fault.
func faults(t *testing.T, yaml string, edit func(*config.Options)) []string {
	t.Helper()
	loaded, err := loadWith(yaml, edit)
	require.Error(t, err)
	assert.Nil(t, loaded)
	var all config.Faults
	require.ErrorAs(t, err, &all)
	require.Equal(t, strings.Split(err.Error(), "\n"), strings.Split(all.Error(), "\n"))
	return strings.Split(err.Error(), "\n")
}

func TestAllFaultsAtOnceWithTheirPlaces(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`r.yaml:1:10: version: 2 is not known: this Roundsman reads version 1`,
		`r.yaml:2:1: job_typs: unknown key: did you mean "job_types"?`,
		`r.yaml:4:12: temporal.address: "here" is not host:port, for instance 127.0.0.1:7233`,
		`r.yaml:5:3: temporal.namespce: unknown key: did you mean "namespace"?`,
		`r.yaml:7:3: resources.Big: name "Big" must start with a-z or 0-9 and hold only a-z, 0-9, _ and -, at most 63 characters`,
		`r.yaml:8:9: resources.none: 0 is out of range: use 1 to 1000000`,
		`r.yaml:11:14: job_types.a.handler: there is no handler "swep": did you mean "sweep"? (--allow-unregistered accepts handlers that only workers know)`,
		`r.yaml:12:11: job_types.a.lane: there is no lane "defualt": declare it with ` + "`lanes: {defualt: {}}`",
		`r.yaml:13:33: job_types.a.schedule.cron: is written together with every: use one of them, or two job types`,
		`r.yaml:14:5: job_types.a.handler: the key is written twice, first at line 11`,
		`r.yaml:17:14: job_types.b.enabled: is text, but must be true or false`,
		`r.yaml:18:15: job_types.b.schedule: says neither every nor cron, and handler plain has no default interval: write ` + "`every: 1h` or `cron: \"0 2 * * *\"`",
		`r.yaml:20:20: job_types.b.policy.retry_limit: is text, but must be an integer up to 2147483647`,
		`r.yaml:21:22: job_types.b.policy.retry_backoff: 5 has no unit: write it like 5s, 5m or 5h`,
		`r.yaml:22:7: job_types.b.policy.max_runtme: unknown key: did you mean "max_runtime"?`,
		`r.yaml:23:3: job_types.c: is a list, but must be an object with at least handler or dag`,
	}, faults(t, `version: 2
job_typs: {}
temporal:
  address: here
  namespce: x
resources:
  Big: 1
  none: 0
job_types:
  a:
    handler: swep
    lane: defualt
    schedule: {every: 5m, cron: "0 2 * * *"}
    handler: plain
  b:
    handler: plain
    enabled: yes
    schedule: {}
    policy:
      retry_limit: three
      retry_backoff: 5
      max_runtme: 5m
  c: []
`, nil))
}

func TestParamsAreBlamedAtTheirLine(t *testing.T) {
	t.Parallel()
	got := faults(t, `version: 1
job_types:
  a:
    handler: sweep
    schedule: {every: 1m}
    params:
      dirr: /x
      depth: 12
      mode: medium
      globs: ["*", 7]
    detect: {x: 1}
    execute:
      command: ls
  b: {handler: sweep, schedule: {every: 1m}}
`, nil)
	assert.Equal(t, []string{
		`r.yaml:7:7: job_types.a.params.dir: is missing: handler sweep needs it`,
		`r.yaml:7:7: job_types.a.params.dirr: unknown key: did you mean "dir"?`,
		`r.yaml:8:14: job_types.a.params.depth: maximum: got 12, want 9`,
		`r.yaml:9:13: job_types.a.params.mode: value must be one of 'fast', 'slow'`,
		`r.yaml:11:5: job_types.a.detect: handler sweep takes no detect block`,
		`r.yaml:13:16: job_types.a.execute.command: is text, but must be a list`,
		`r.yaml:14:3: job_types.b.params.dir: is missing: handler sweep needs it`,
	}, got)
}

func TestPolicyOutOfRange(t *testing.T) {
	t.Parallel()
	got := faults(t, `version: 1
job_types:
  a:
    handler: plain
    schedule: {every: 1m}
    policy:
      global_execution_concurrency: 501
      catchup_window: 9s
      overlap: allow_all
      liveness: heartbeat
      stall_timeout: 0s
  b: {handler: plain, schedule: {every: 1m}, policy: {catchup_window: 0s}}
  c: {handler: broken, schedule: {every: 1m}}
`, func(o *config.Options) {
		o.Handlers = append(o.Handlers, jobtype.Descriptor{Name: "broken", DefaultPolicy: jobtype.Policy{RetryLimit: 999}})
	})
	require.Len(t, got, 7)
	assert.Contains(t, got[0], "r.yaml:7:37: job_types.a.policy.global_execution_concurrency: 501 is out of range")
	assert.Contains(t, got[1], "r.yaml:8:23: job_types.a.policy.catchup_window: 9s is out of range")
	assert.Contains(t, got[2], "r.yaml:9:16: job_types.a.policy.overlap: allow_all is refused")
	assert.Contains(t, got[3], `r.yaml:10:17: job_types.a.policy.liveness: "heartbeat" is none of`)
	assert.Contains(t, got[4], "r.yaml:11:22: job_types.a.policy.stall_timeout: 0s is out of range")
	assert.Contains(t, got[5], "r.yaml:12:71: job_types.b.policy.catchup_window: 0s is out of range")
	assert.Contains(t, got[6], "r.yaml:13:3: job_types.c.policy.retry_limit: 999 is out of range: use 0 to 100 (the default of handler broken)")
}

func TestScheduleFaults(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string]string{
		"{every: 999ms}":                      "999ms is not a whole number of seconds",
		"{every: 0s}":                         "0s is out of range",
		"{every: -5m}":                        "out of range",
		"{every: 366d}":                       "out of range",
		"{every: 5}":                          "5 has no unit",
		"{every: soon}":                       "write it like 45s",
		"{every: [5m]}":                       "is a list, but must be a duration",
		"{every: 5m, offset: 5m}":             "offset: 5m must be shorter than every",
		"{every: 5m, timezone: UTC}":          "timezone: has no meaning for every",
		"{every: 5m, jitter: 5m}":             "jitter: 5m must be shorter than the interval",
		"{every: 5m, jitter: -1s}":            "jitter: -1s must be shorter",
		"{cron: '0 0 31 2 *'}":                "never comes",
		"{cron: ['0 2 * * *', '99 * * * *']}": "above maximum (59)",
		"{cron: []}":                          "holds 0 expressions",
		"{cron: [5]}":                         "holds an integer, but must be a list of texts: put it in quotes",
		"{cron: '@every 5m'}":                 "use schedule.every",
		"{cron: '0 2 * * *', timezone: Europe/Berlun}": "there is no time zone \"Europe/Berlun\"",
		"{cron: '0 2 * * *', timezone: Local}":         "means another zone on every machine",
		"{cron: '0 2 * * *', timezone: ../etc/passwd}": "there is no time zone",
		"{cron: '0 2 * * *', offset: 5m}":              "offset: has no meaning for cron",
		"{cron: '* * * * *', jitter: 1m}":              "must be shorter than the interval, 1m",
		"{evry: 5m}":                                   `unknown key: did you mean "every"?`,
		"5m":                                           "is text, but must be an object",
	} {
		got := faults(t, strings.Replace(minimal, "{every: 5m}", schedule, 1), nil)
		assert.Contains(t, strings.Join(got, "\n"), want, schedule)
		assert.Regexp(t, `^r\.yaml:5:\d+: job_types\.tidy\.schedule`, got[0], schedule)
	}
}

func TestFleetThresholdsMustBeInOrder(t *testing.T) {
	t.Parallel()
	got := faults(t, minimal+"fleet: {heartbeat_interval: 2m, unreachable_after: 1m, offline_after: 1m, delete_after: 30s}\n", nil)
	require.Len(t, got, 4)
	assert.Contains(t, got[0], "fleet.heartbeat_interval: 2m is out of range")
	assert.Contains(t, got[1], "fleet.unreachable_after: 1m is too short: use more than 6m")
	assert.Contains(t, got[2], "fleet.offline_after: 1m must be longer than unreachable_after")
	assert.Contains(t, got[3], "fleet.delete_after: 30s must be longer than offline_after")
}

func TestHoldOnASharedQueueIsRefused(t *testing.T) {
	t.Parallel()
	own := faults(t, minimal+"    policy: {routing: shared, on_worker_loss: hold}\n", nil)
	require.Len(t, own, 1)
	assert.Contains(t, own[0], "r.yaml:6:47: job_types.tidy.policy.on_worker_loss: hold needs routing worker")
}

func TestUnknownHandlerIsAWarningWhenAllowed(t *testing.T) {
	t.Parallel()
	loaded, err := loadWith(strings.Replace(minimal, "plain", "remote", 1), func(o *config.Options) { o.AllowUnregistered = true })
	require.NoError(t, err)
	require.Len(t, loaded.Warnings, 1)
	assert.Contains(t, loaded.Warnings[0].String(), `r.yaml:4:14: job_types.tidy.handler: no handler "remote" is known here`)
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, `version: 1
job_types:
  a:
    handler: plain
    schedule: {every: 1m}
    policy:
      routing: shared
      per_worker_execution_concurrency: 2
      execution_timeout: 2h
      drain_grace: 5m
    params: {node: node-a}
`)
	text := loaded.Warnings.Error()
	for _, want := range []string{
		"r.yaml:8:41: job_types.a.policy.per_worker_execution_concurrency: under routing shared",
		"r.yaml:8:41: job_types.a.policy.per_worker_execution_concurrency: 2 has no effect above",
		"r.yaml:9:26: job_types.a.policy.execution_timeout: 2h is longer than max_runtime, 30m",
		"r.yaml:10:20: job_types.a.policy.drain_grace: has no effect",
		"r.yaml:11:20: job_types.a.params.node: routing shared cannot honor pins",
	} {
		assert.Contains(t, text, want)
	}
	assert.Len(t, loaded.Warnings, 5)
}

// The interval of the descriptor is used without a schedule, and with a schedule that only sets the time within
// the interval.
func TestDefaultInterval(t *testing.T) {
	t.Parallel()
	const twoHours = jobtype.Duration(2 * time.Hour)
	vacuum := jobtype.Descriptor{Name: "vacuum", DefaultInterval: twoHours, DefaultPolicy: jobtype.Policy{RetryLimit: 1, Liveness: jobtype.LivenessProcess}}
	loaded, err := loadWith(`version: 1
job_types:
  a: {handler: vacuum}
  b: {handler: vacuum, schedule: {offset: 5m}, policy: {retry_limit: 3}}
  c: {handler: vacuum, schedule: {every: 1h}}
  d: {handler: vacuum, schedule: {cron: "@daily"}}
`, func(o *config.Options) { o.Handlers = append(o.Handlers, vacuum) })
	require.NoError(t, err)
	all := specs(t, loaded)
	assert.Equal(t, contract.ScheduleSpec{Every: twoHours, Offset: contract.SpreadOffset("a", twoHours), FirstRun: contract.FirstRunNow}, all[0].Schedule)
	assert.Equal(t, twoHours, all[0].Interval)
	assert.Equal(t, []string{"policy.retry_limit", "policy.liveness", "schedule.every"}, all[0].FromHandler)
	assert.Equal(t, contract.ScheduleSpec{Every: twoHours, Offset: jobtype.Duration(5 * time.Minute), FirstRun: contract.FirstRunNow}, all[1].Schedule)
	assert.Equal(t, []string{"policy.liveness", "schedule.every"}, all[1].FromHandler)
	assert.Equal(t, jobtype.Duration(time.Hour), all[2].Schedule.Every)
	assert.NotContains(t, all[2].FromHandler, "schedule.every")
	assert.Zero(t, all[3].Schedule.Every, "a calendar has no interval besides")
	_, err = load("version: 1\njob_types: {a: {handler: plain}}\n")
	require.ErrorContains(t, err, "schedule: is missing, and handler plain has no default interval: write `schedule: {every: 1h}`")
}

// An interval begins at once, a calendar at its time, unless the file says otherwise.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string]contract.FirstRun{
		"{every: 1h}":                         contract.FirstRunNow,
		"{every: 1h, first_run: scheduled}":   contract.FirstRunScheduled,
		`{cron: "0 3 * * *"}`:                 contract.FirstRunScheduled,
		`{cron: "0 3 * * *", first_run: now}`: contract.FirstRunNow,
	} {
		loaded := mustLoad(t, "version: 1\njob_types: {a: {handler: plain, schedule: "+schedule+"}}\n")
		assert.Equal(t, want, loaded.JobTypes["a"].Schedule.FirstRun, schedule)
	}
	_, err := load("version: 1\njob_types: {a: {handler: plain, schedule: {every: 1h, first_run: soon}}}\n")
	require.ErrorContains(t, err, `schedule.first_run: "soon" is none of the ways: use now or scheduled`)
}

// The schema for editors requires a schedule where the handler has no interval.
func TestSchemaOfDefaultInterval(t *testing.T) {
	t.Parallel()
	encoded, err := config.Schema([]jobtype.Descriptor{plainHandler(), {Name: "vacuum", DefaultInterval: jobtype.Duration(2 * time.Hour), DefaultPolicy: jobtype.Policy{RetryLimit: 1}}})
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("r.json", document))
	schema, err := compiler.Compile("r.json")
	require.NoError(t, err)
	for text, valid := range map[string]bool{
		`{"handler":"vacuum"}`:                                           true,
		`{"handler":"vacuum","schedule":{"offset":"5m"}}`:                true,
		`{"handler":"vacuum","schedule":{"every":"5m","cron":"@daily"}}`: false,
		`{"handler":"plain"}`:                                            false,
		`{"handler":"plain","schedule":{"offset":"5m"}}`:                 false,
		`{"handler":"plain","schedule":{"every":"5m"}}`:                  true,
		`{"dag":"a.yaml"}`:                                               false,
		`{"dag":"a.yaml","schedule":{"cron":"@daily"}}`:                  true,
		`{"handler":"elsewhere"}`:                                        true,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"version":1,"job_types":{"a":` + text + `}}`))
		require.NoError(t, err)
		assert.Equal(t, valid, schema.Validate(value) == nil, text)
	}
	for _, shown := range []string{`"default": "2h"`, `"description": "default of handler vacuum"`} {
		assert.Contains(t, string(encoded), shown)
	}
}

// A job type without a lane waits for no turn. A named lane is exclusive by default.
func TestLanes(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, `version: 1
lanes: {disks: , shared: {exclusive: false}, default: {}}
job_types:
  a: {handler: plain, schedule: {every: 1m}}
  b: {handler: plain, schedule: {every: 1m}, lane: disks}
  c: {handler: plain, schedule: {every: 1m}, lane: shared}
`)
	all := specs(t, loaded)
	for i, want := range []struct {
		lane   string
		shared bool
	}{{"", false}, {"disks", false}, {"shared", true}} {
		assert.Equal(t, want.lane, all[i].Lane)
		assert.Equal(t, want.shared, all[i].LaneShared)
	}
	require.Len(t, loaded.Warnings, 1, "windows of a lane that nobody names would hold for nothing")
	assert.Equal(t, "r.yaml:2:46: lanes.default: no job type names it: write `lane: default` in those that are to take turns in it", loaded.Warnings.Error())
}

type pickyValidator struct{ err error }

func (p pickyValidator) ValidateSettings(params, _, _ json.RawMessage) error {
	if !json.Valid(params) {
		return errors.New("called before the schemas were satisfied")
	}
	return p.err
}

func TestSettingsValidatorIsBlamedByPath(t *testing.T) {
	t.Parallel()
	got := faults(t, `version: 1
job_types:
  a:
    handler: sweep
    schedule: {every: 1m}
    params: {dir: /x}
    execute:
      command:
        - rm
        - "{{"
`, func(o *config.Options) {
		o.Validators = map[string]jobtype.SettingsValidator{"sweep": pickyValidator{errors.Join(
			errors.New("execute.command[1]: the template is not closed"), errors.Join(errors.New("something else")),
		)}}
	})
	assert.Equal(t, []string{
		"r.yaml:3:3: job_types.a: something else",
		"r.yaml:10:11: job_types.a.execute.command[1]: the template is not closed",
	}, got)
}

func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	second := config.Source{Name: "more.yaml", Data: []byte("version: 1\njob_types:\n  wipe: {handler: plain, schedule: {every: 1h}}\nlanes: {slow: }\n")}
	loaded, err := loadWith(minimal, func(o *config.Options) { o.Sources = append(o.Sources, second) })
	require.NoError(t, err)
	assert.Len(t, loaded.JobTypes, 2)
	assert.Contains(t, loaded.Lanes, "slow")

	clash := config.Source{Name: "more.yaml", Data: []byte("version: 3\njob_types:\n  tidy: {handler: plain, schedule: {every: 1h}}\n")}
	got := faults(t, minimal, func(o *config.Options) { o.Sources = append(o.Sources, clash) })
	assert.Equal(t, []string{
		"more.yaml:1:10: version: differs from the version at r.yaml:1",
		"more.yaml:3:3: job_types.tidy: is already written at r.yaml:3",
	}, got)
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Files: []string{"nowhere.yaml"}})
	require.EqualError(t, err, "nowhere.yaml: cannot be opened: no such file or directory")
	_, err = config.Load(config.Options{Files: []string{"/proc/self/mem"}})
	require.ErrorContains(t, err, "cannot be read")
	_, err = config.Load(config.Options{})
	require.ErrorContains(t, err, "name one with --config")
}

func TestArgumentsStayAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	loaded, err := loadWith(`version: 1
job_types:
  compress:
    handler: arguments
    schedule: {every: 5m}
    execute: {command: [gzip, -9, 007, 1e3, true, 0x1F, "{{.Params.item}}"]}
`, func(o *config.Options) {
		o.Handlers = []jobtype.Descriptor{{Name: "arguments", ExecuteSettings: json.RawMessage(
			`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}}}}`)}}
	})
	require.NoError(t, err)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	require.Len(t, specs, 1)
	assert.JSONEq(t, `{"command":["gzip","-9","007","1e3","true","0x1F","{{.Params.item}}"]}`, string(specs[0].Execute))
}

func TestAuditEntriesAreBounded(t *testing.T) {
	t.Parallel()
	loaded, err := load(minimal)
	require.NoError(t, err)
	assert.Equal(t, 4000, loaded.Audit.Entries)
	loaded, err = load(minimal + "audit: {entries: 500}\n")
	require.NoError(t, err)
	assert.Equal(t, 500, loaded.Audit.Entries)
	for _, wrong := range []string{"99", "20001", "-1"} {
		got := faults(t, minimal+"audit: {entries: "+wrong+"}\n", nil)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "audit.entries: "+wrong+" is out of range: use 100 to 20000")
	}
	assert.Contains(t, faults(t, minimal+"audit: {entrys: 500}\n", nil)[0], "entrys")
}

func TestRetentionIsBounded(t *testing.T) {
	t.Parallel()
	loaded, err := load(minimal)
	require.NoError(t, err)
	assert.Zero(t, loaded.Retention, "the namespace decides")
	loaded, err = load(minimal + "retention: {runs: 30d}\n")
	require.NoError(t, err)
	assert.Equal(t, "720h", loaded.Retention.Runs.String())
	for _, wrong := range []string{"59m", "4000d"} {
		got := faults(t, minimal+"retention: {runs: "+wrong+"}\n", nil)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "retention.runs: ")
		assert.Contains(t, got[0], "is out of range: use 1h to 87600h")
	}
	assert.Contains(t, faults(t, minimal+"retention: {audit: 1m}\n", nil)[0], "retention.audit: 1m is out of range")
	assert.Contains(t, faults(t, minimal+"retention: {runs: 30}\n", nil)[0], "has no unit")
}

// TestFleetThresholdsFollow checks that unreachable_after alone moves the later thresholds.
func TestFleetThresholdsFollow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]time.Duration{
		"{}":                       {6 * time.Minute, 24 * time.Hour},
		"{unreachable_after: 10m}": {30 * time.Minute, 24 * time.Hour},
		"{unreachable_after: 12h}": {36 * time.Hour, 144 * time.Hour},
		"{unreachable_after: 10m, offline_after: 11m}":    {11 * time.Minute, 24 * time.Hour},
		"{unreachable_after: 20s, delete_after: 2m}":      {time.Minute, 2 * time.Minute},
		"{heartbeat_interval: 1s, unreachable_after: 4s}": {12 * time.Second, 24 * time.Hour},
	} {
		fleet := mustLoad(t, minimal+"fleet: "+text+"\n").Fleet
		assert.Equal(t, want, [2]time.Duration{fleet.OfflineAfter.Std(), fleet.DeleteAfter.Std()}, text)
	}
}

// Commands and secrets of a job type, of its DAG's files and of a receiver cause warnings.
func TestWarningsOfCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"night.yaml": "version: 1\nname: night\nparams: {token: abc}\ntasks:\n  - {id: dump, command: [\"pg_dump -Fc db\"]}\n  - {id: sub, needs: [dump], dag: sub.yaml}\n",
		"sub.yaml":   "version: 1\nname: sub\ntasks:\n  - {id: pack, command: [sh, -c, 'tar c /srv | gzip > f']}\n  - {id: off, command: [\"true\"], params: {password: s3cret}}\n",
		"r.yaml": `version: 1
job_types:
  a:
    handler: plain
    schedule: {every: 1m}
    params: {password: s3cret, password_file: /etc/key}
  b:
    dag: night.yaml
    schedule: {every: 1m}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	loaded, err := config.Load(config.Options{Files: []string{filepath.Join(dir, "r.yaml")}, AllowUnregistered: true})
	require.NoError(t, err)
	text := strings.ReplaceAll(loaded.Warnings.Error(), dir+string(filepath.Separator), "")
	for _, want := range []string{
		"r.yaml:6:24: job_types.a.params.password: password is a literal secret",
		"night.yaml:3:17: job_types.b.dag: params.token: token is a literal secret",
		"night.yaml:5:26: job_types.b.dag: command[0]: a whole command line in one element",
		"sub.yaml:4:34: job_types.b.dag: command[2]: only the last program of the pipeline decides its success",
		"sub.yaml:5:53: job_types.b.dag: params.password: password is a literal secret",
	} {
		assert.Contains(t, text, want)
	}
	assert.Len(t, loaded.Warnings, 6, "and the unknown handler")
	assert.NotContains(t, text, "s3cret")
}

// The expression looks like "the first Sunday" and means each of the first seven days and each Sunday.
func TestBothDaysOfACronAreOr(t *testing.T) {
	t.Parallel()
	warned := func(cron string) config.Faults {
		return mustLoad(t, "version: 1\njob_types:\n  a: {handler: plain, schedule: {cron: \""+cron+"\"}}\n").Warnings
	}
	require.Len(t, warned("0 2 1-7 * sun"), 1)
	assert.Contains(t, warned("0 2 1-7 * sun").Error(), `"0 2 1-7 * sun" is due on each day 1-7 of the month or sun: cron joins both by "or"`)
	assert.Empty(t, warned("0 2 1-7 * *"))
	assert.Empty(t, warned("0 2 * * sun"))
	assert.Empty(t, warned("@weekly"))
}
