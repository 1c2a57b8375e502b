package batch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/batch"
	"github.com/roundsman/roundsman/jobtype"
)

func TestKey(t *testing.T) {
	t.Parallel()
	p := jobtype.Proposal{
		DedupeKey: "/srv/a/1", Summary: "one", Params: []byte(`{"item":"/srv/a/1","size":1000000}`), Node: "node-a",
		Labels: map[string]string{"volume": "7"}, Resources: map[string]int{"db": 2}, Exclusive: []string{"v/7"}, Shared: []string{"r/1"},
	}
	for by, want := range map[string]string{
		"{{.Labels.volume}}":                        "7",
		"{{dir .Params.item}} ":                     "/srv/a",
		"{{.Params.zone}}-{{.Params.size}}":         "east-1000000",
		"{{.DedupeKey}}{{.Summary}}{{.Detail}}":     "/srv/a/1one",
		"{{.Node}} {{.Priority}}":                   "node-a normal",
		"{{index .Exclusive 0}}{{index .Shared 0}}": "v/7r/1",
		"{{.Resources.db}}":                         "2",
		`{{with index .Labels "rack"}}{{.}}{{end}}`: "",
		"all": "all",
	} {
		parsed, err := batch.Parse(by)
		require.NoError(t, err, by)
		key, err := parsed.Key([]byte(`{"zone":"east","item":"-"}`), p)
		require.NoError(t, err, by)
		assert.Equal(t, want, key, by)
	}
}

func TestLongAndStrangeKeysAreKeys(t *testing.T) {
	t.Parallel()
	parsed, err := batch.Parse("{{.Params.item}}")
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, item := range []string{strings.Repeat("x", 5000), strings.Repeat("x", 5001), "a\\nb"} {
		key, err := parsed.Key(nil, jobtype.Proposal{Params: []byte(`{"item":"` + item + `"}`)})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(key), jobtype.MaxDedupeKeyBytes)
		keys[key] = true
	}
	assert.Len(t, keys, 3)
}

func TestTemplateThatFails(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"{{.Labels.volume}}", "{{.Params.item.name}}", "{{index .Exclusive 0}}"} {
		_, err := batch.Keys(by, nil, []jobtype.Proposal{{Labels: map[string]string{"volume": "1"}, Params: []byte(`{"item":{"name":"x"}}`), Exclusive: []string{"o"}}, {}})
		require.ErrorContains(t, err, "proposal 2: batch.by: template: by:1:", by)
	}
	keys, err := batch.Keys("{{.Labels.volume}}", nil, []jobtype.Proposal{{DAG: "tasks: []"}})
	require.NoError(t, err, "a graph stands alone, whatever the template says")
	assert.Equal(t, []string{""}, keys)
	_, err = batch.Keys("{{", nil, nil)
	require.ErrorContains(t, err, "batch.by: not a valid template: unclosed action")
}
