package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const complete = `version: 1
temporal: {address: "temporal.example:7233", namespace: ops, tls: {server_name: t.example}}
lanes: {slow: {exclusive: false}, other: {exclusive: false}}
resources: {db: 2}
cluster: {name: "west <&>", racks: [1, 2.5, true, null, "0x10", 2024-01-01]}
job_types:
  sweep_tmp:
    handler: sweep
    description: "Sweeps: all of it"
    enabled: false
    lane: slow
    schedule: {cron: ["0 2 * * *"], timezone: Europe/Berlin, jitter: 90s}
    policy: {retry_limit: 0, catchup_window: 1h}
    params: {dir: "/tmp", depth: 3}
    execute: {command: [rm, "{{.Params.item}}"]}
  tidy: {handler: plain, schedule: {every: 90s, offset: 30s}}
`

func specs(t *testing.T, loaded *config.Config) []contract.JobTypeSpec {
	t.Helper()
	all, err := loaded.Specs()
	require.NoError(t, err)
	return all
}

// valuesOf returns the specs without their hashes and without the origin of values: printed defaults
// are written values.
func valuesOf(t *testing.T, loaded *config.Config) []contract.JobTypeSpec {
	all := specs(t, loaded)
	for i := range all {
		all[i].FromHandler, all[i].Hash = nil, ""
	}
	return all
}

// Printed output loads again as the same configuration.
func TestFormatRoundTrips(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, complete)
	for _, output := range []string{"json", "yaml"} {
		printed, err := loaded.Format(output)
		require.NoError(t, err)
		again, err := load(string(printed))
		require.NoError(t, err, "%s", printed)
		assert.Equal(t, valuesOf(t, loaded), valuesOf(t, again), output)
		assert.Equal(t, loaded.Temporal, again.Temporal)
		assert.Equal(t, loaded.Enabled(), again.Enabled())
		for _, visible := range []string{"retry_limit", "interactive", "unreachable_after", "timezone", "lanes"} {
			assert.Contains(t, string(printed), visible, "defaults are visible in %s", output)
		}
	}
	_, err := loaded.Format("toml")
	require.ErrorContains(t, err, "use json or yaml")
}

func TestFormatHidesTheKey(t *testing.T) {
	t.Parallel()
	loaded, err := loadWith(minimal, func(o *config.Options) { o.Environ = []string{"TEMPORAL_API_KEY=s3cret"} })
	require.NoError(t, err)
	assert.Equal(t, "s3cret", loaded.Temporal.APIKey)
	for _, output := range []string{"json", "yaml"} {
		printed, err := loaded.Format(output)
		require.NoError(t, err)
		assert.NotContains(t, string(printed), "s3cret")
		assert.Contains(t, string(printed), "(hidden)")
	}
}

func TestSpecsAreStable(t *testing.T) {
	t.Parallel()
	first := specs(t, mustLoad(t, complete))
	require.Len(t, first, 2)
	assert.Equal(t, []string{"sweep_tmp", "tidy"}, []string{first[0].Name, first[1].Name})
	assert.JSONEq(t, `{"depth":3,"dir":"/tmp"}`, string(first[0].Params))
	canonical := `{"name":"west <&>","racks":[1,2.5,true,null,"0x10","2024-01-01"]}`
	assert.Equal(t, canonical, string(first[0].Cluster), "to the byte")

	reordered := strings.Replace(complete, `{dir: "/tmp", depth: 3}`, "{depth: 0x3, dir: /tmp} # comment", 1)
	reordered = strings.Replace(reordered, "catchup_window: 1h", "catchup_window: 60m", 1)
	assert.Equal(t, first, specs(t, mustLoad(t, reordered)), "spelling does not matter")
	assert.Regexp(t, `^v1-[0-9a-f]{32}$`, first[0].Hash)
}

// Every change of meaning changes the hash. Enabling does not, because the pause belongs to the
// Schedule, not to the spec.
func TestHashCoversEverything(t *testing.T) {
	t.Parallel()
	base := specs(t, mustLoad(t, complete))[0].Hash
	for _, change := range [][2]string{
		{"Sweeps: all of it", "Sweeps"},
		{"lane: slow", "lane: other"},
		{"0 2 * * *", "1 2 * * *"},
		{"Europe/Berlin", "Europe/Paris"},
		{"jitter: 90s", "jitter: 91s"},
		{"retry_limit: 0", "retry_limit: 1"},
		{"depth: 3", "depth: 4"},
		{"[rm, ", "[rm, -f, "},
		{"racks: [1,", "racks: [2,"},
	} {
		changed := strings.Replace(complete, change[0], change[1], 1)
		require.NotEqual(t, complete, changed)
		assert.NotEqual(t, base, specs(t, mustLoad(t, changed))[0].Hash, change[1])
	}
	enabled := strings.Replace(complete, "enabled: false", "enabled: true", 1)
	assert.Equal(t, base, specs(t, mustLoad(t, enabled))[0].Hash)
}

// The hash of an unchanged configuration must stay equal across versions. Otherwise a new Roundsman
// would report every job type as changed.
func TestHashIsPinned(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "v1-a2ff031277cc61c667f9f0ab8c82373d", specs(t, mustLoad(t, minimal))[0].Hash,
		"if the change of a default or of the encoding is on purpose, pin the new value")
}

func TestEnvironmentOverridesFileOverridesProfile(t *testing.T) {
	t.Parallel()
	profile := config.Temporal{Address: "profile:1", Namespace: "profile", TLS: &config.TLS{CA: "profile.pem"}}
	loaded, err := loadWith("version: 1\ntemporal: {address: 'file:2', tls: {server_name: s}}\n", func(o *config.Options) { o.Temporal = profile })
	require.NoError(t, err)
	assert.Equal(t, config.Temporal{Address: "file:2", Source: "r.yaml", Written: "file:2", File: "r.yaml", Namespace: "profile", TLS: &config.TLS{CA: "profile.pem", ServerName: "s"}}, loaded.Temporal)
	assert.Empty(t, profile.TLS.ServerName, "the caller's value is left alone")

	loaded, err = loadWith("version: 1\ntemporal: {address: 'file:2'}\n", func(o *config.Options) {
		o.Environ = []string{
			"TEMPORAL_ADDRESS=env:3", "TEMPORAL_NAMESPACE=", "TEMPORAL_TLS=true",
			"TEMPORAL_TLS_CLIENT_CERT_PATH=c.pem", "TEMPORAL_TLS_CLIENT_KEY_DATA=KEY", "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION=1",
		}
	})
	require.NoError(t, err)
	assert.Equal(t, config.Temporal{
		Address: "env:3", Source: "TEMPORAL_ADDRESS", Written: "file:2", File: "r.yaml", Namespace: "default",
		TLS: &config.TLS{Cert: "c.pem", KeyData: "KEY", SkipHostVerification: true},
	}, loaded.Temporal)
}

func TestEnvironmentFaults(t *testing.T) {
	t.Parallel()
	_, err := loadWith("version: 1\n", func(o *config.Options) {
		o.Environ = []string{"TEMPORAL_ADDRESS=nowhere", "TEMPORAL_TLS=maybe", "TEMPORAL_TLS_CLIENT_KEY_PATH=k", "nonsense"}
	})
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 3)
	assert.Contains(t, lines[0], `environment: TEMPORAL_ADDRESS: "nowhere" is not host:port`)
	assert.Contains(t, lines[1], `environment: TEMPORAL_TLS: "maybe" must be true or false`)
	assert.Contains(t, lines[2], "belong together")
}

func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	encoded, err := config.Schema([]jobtype.Descriptor{sweep(), plainHandler()})
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("roundsman.schema.json", document))
	compiled, err := compiler.Compile("roundsman.schema.json")
	require.NoError(t, err)
	return compiled
}

func TestSchemaAgreesWithLoad(t *testing.T) {
	t.Parallel()
	compiled := schemaOf(t)
	for yamlText, valid := range map[string]bool{
		minimal:  true,
		complete: true,
		strings.Replace(minimal, "every", "evry", 1):                                     false,
		strings.Replace(minimal, "5m", "5 minutes", 1):                                   false,
		strings.Replace(minimal, "tidy", "Tidy", 1):                                      false,
		strings.Replace(minimal, "handler", "hanlder", 1):                                false,
		strings.Replace(complete, "depth: 3", "depth: 30", 1):                            false,
		strings.Replace(complete, "retry_limit: 0", "retry_limit: none", 1):              false,
		strings.Replace(complete, "catchup_window: 1h", "overlap: allow_all", 1):         false,
		minimal + "    detect: {}\n":                                                     false,
		minimal + "    policy: {routing: shared, detection_timeout: 1d12h}\n":            true,
		strings.Replace(minimal, "{every: 5m}", "{cron: '0 2 * * *', timezone: UTC}", 1): true,
	} {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(yamlText), &value))
		encoded, err := json.Marshal(value)
		require.NoError(t, err)
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		require.NoError(t, err)
		_, loadErr := load(yamlText)
		assert.Equal(t, valid, loadErr == nil, "load: %s: %v", yamlText, loadErr)
		schemaErr := compiled.Validate(instance)
		assert.Equal(t, valid, schemaErr == nil, "schema: %s: %v", yamlText, schemaErr)
	}
}

func TestSchemaKnowsEveryPolicySetting(t *testing.T) {
	t.Parallel()
	encoded, err := config.Schema(nil)
	require.NoError(t, err)
	for _, key := range []string{"detection_timeout", "stall_timeout", "routing", "interactive", "worker_loss_limit"} {
		assert.Contains(t, string(encoded), `"`+key+`"`)
	}
}

func TestFaultsAreSortedAndJSON(t *testing.T) {
	t.Parallel()
	_, err := load("version: 2\nfleet: {x: 1}\nlanes: 5\n")
	var all config.Faults
	require.ErrorAs(t, err, &all)
	assert.True(t, slices.IsSortedFunc(all, func(a, b config.Fault) int { return a.Line - b.Line }))
	encoded, err := json.Marshal(all[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"file":"r.yaml","line":1,"column":10,"path":"version","message":"2 is not known: this Roundsman reads version 1"}`, string(encoded))
}

// TestLoadCostsTheSameForEachJobType counts allocations.
func TestLoadCostsTheSameForEachJobType(t *testing.T) {
	cost := func(n int) float64 {
		var text strings.Builder
		text.WriteString("version: 1\njob_types:\n")
		for i := range n {
			fmt.Fprintf(&text, "  type%d: {handler: plain, schedule: {cron: ['*/7 2 * * mon', '0 4 1 * *']}}\n", i)
		}
		return testing.AllocsPerRun(1, func() { assert.Len(t, mustLoad(t, text.String()).JobTypes, n) })
	}
	few, many := cost(50), cost(100)
	t.Logf("%.0f allocations for 50 job types, %.0f for 100", few, many)
	assert.Less(t, many, 2.5*few)
}
