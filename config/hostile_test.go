package config_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

// bombs are documents whose aliases repeat many values, or long ones.
func bombs() (lists, texts string) {
	lists = "a: &a [0, 1, 2, 3, 4, 5, 6, 7, 8]\n"
	for i := range 12 {
		lists += fmt.Sprintf("%c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 9), ", "))
	}
	return lists, "a: &a " + strings.Repeat("x", 400_000) + "\nb: [" + strings.Repeat("*a, ", 100_000) + "*a]\n"
}

// An alias beyond the limit costs nothing. All values of these documents would be more than 10^12.
func TestBombsAreDefusedEarly(t *testing.T) {
	lists, texts := bombs()
	for _, text := range []string{lists, texts} {
		allocations := testing.AllocsPerRun(1, func() { _ = faults(t, text, nil) })
		t.Logf("%.0f allocations", allocations)
		assert.Less(t, allocations, 2e6)
	}
}

func TestFilesThatAreNoConfiguration(t *testing.T) {
	t.Parallel()
	bomb, heavy := bombs()
	for name, test := range map[string]struct{ yaml, want string }{
		"empty":                {"", "r.yaml:1:1: the file is empty: it begins with `version: 1`"},
		"only comments":        {"# nothing\n", "the file is empty"},
		"null":                 {"null\n", "the file holds nothing, not keys and values"},
		"text":                 {"hello\n", "the file holds text, not keys and values"},
		"list":                 {"- a\n- b\n", "the file holds a list, not keys and values"},
		"two documents":        {"version: 1\n---\nversion: 1\n", "r.yaml:2:1: a second document begins here"},
		"bad second document":  {"version: 1\n---\n[\n", "not valid YAML"},
		"not UTF-8":            {"version: 1\nname: caf\xe9\n", "r.yaml:2:10: the file is not UTF-8 from here on"},
		"UTF-16":               {"\xff\xfev\x00", "the file is UTF-16"},
		"NUL":                  {"version: \x00", "not valid YAML"},
		"tab indentation":      {"version: 1\nlanes:\n\tslow: {}\n", "r.yaml:3:1: not valid YAML: found character that cannot start any token"},
		"unclosed":             {"version: [1\n", "not valid YAML"},
		"unknown anchor":       {"version: *x\n", "not valid YAML: unknown anchor 'x' referenced"},
		"custom tag":           {"version: !ruby 1\n", "r.yaml:1:10: version: the tag !ruby is not supported"},
		"key that is a list":   {"? [a]\n: 1\n", "a key must be plain text"},
		"bomb of lists":        {bomb, "aliases repeat more than 100000 values"},
		"bomb of text":         {heavy, "aliases repeat more than 100000 values or 4194304 bytes"},
		"anchor in itself":     {"cluster: &a {x: *a}\n", `cluster.x: the anchor "a" contains itself`},
		"merge of itself":      {"cluster: &a {<<: *a}\n", `the anchor "a" contains itself`},
		"merge of text":        {"a: &a x\ncluster: {<<: *a}\n", "<< merges keys and values, not text"},
		"deep":                 {"cluster: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 64 levels deep"},
		"too deep for YAML":    {strings.Repeat("[", 20000), "exceeded max depth"},
		"too large":            {strings.Repeat("# comment\n", 110_000), "the file has more than 1048576 bytes"},
		"not a number of JSON": {"version: 1\ncluster: {x: .nan}\n", "r.yaml:2:14: cluster.x: \".nan\": JSON has no such number"},
		"number out of range":  {"version: 99999999999999999999\n", "r.yaml:1:10: version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, strings.Join(faults(t, test.yaml, nil), "\n"), test.want)
		})
	}
}

func TestAMegabyteOfGarbage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	alphabets := map[string]string{
		"bytes": "", "letters": "abc \n", "punctuation": "{}[]:,&*!|>'\"%@`#-?\n \t", "keys": "ab:\n ", "dashes": "- \n",
	}
	for name, alphabet := range alphabets {
		data := make([]byte, 1<<20)
		for i := range data {
			if data[i] = byte(random.Uint32()); alphabet != "" {
				data[i] = alphabet[int(data[i])%len(alphabet)]
			}
		}
		got := faults(t, string(data), nil)
		assert.NotEmpty(t, got, name)
		assert.LessOrEqual(t, len(got), 501, name)
	}
	keys := strings.Builder{}
	for i := range 90_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	got := faults(t, keys.String(), nil)
	assert.Contains(t, got[500], "more faults: is this a configuration?")
}

func TestAnchorsAndMergeKeysWork(t *testing.T) {
	t.Parallel()
	loaded := mustLoad(t, `version: 1
job_types:
  a:
    handler: plain
    schedule: &often {every: 5m}
    policy: &calm {retry_limit: 3, retry_backoff: 1m}
  b:
    handler: plain
    schedule: *often
    policy: {<<: *calm, retry_limit: 1}
`)
	assert.Equal(t, "5m", loaded.JobTypes["b"].Schedule.Every.String())
	assert.Equal(t, 1, loaded.JobTypes["b"].Policy.RetryLimit)
	assert.Equal(t, "1m", loaded.JobTypes["b"].Policy.RetryBackoff.String())
}

func TestWindowsLineEndsAndByteOrderMark(t *testing.T) {
	t.Parallel()
	mustLoad(t, "\xef\xbb\xbf"+strings.ReplaceAll(minimal, "\n", "\r\n"))
}

func TestFileIsReadFromDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "roundsman.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: one\n"), 0o600))
	_, err := config.Load(config.Options{Files: []string{path}})
	require.EqualError(t, err, path+":1:10: version: is text, but must be an integer up to 2147483647")
}

// FuzzLoad checks that Load returns a configuration or faults with a place for any file.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		minimal, "", "a: &a {b: *a}", "<<: {}", "? [x]\n: y", "version: 1\njob_types: {a: {schedule: {cron: [\"* * * * *\"]}}}",
		"version: 1\ncluster: {<<: [{a: 1}, {b: 2}]}\n", "x: !!binary =\n", "- - - -", "%TAG ! tag:x,2000:\n---\nversion: !x 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		loaded, err := load(string(data))
		if err == nil {
			_, specsErr := loaded.Specs()
			require.NoError(t, specsErr)
			return
		}
		var all config.Faults
		require.ErrorAs(t, err, &all)
		require.NotEmpty(t, all)
		for _, fault := range all {
			assert.NotEmpty(t, fault.Message)
			assert.Equal(t, "r.yaml", fault.File)
		}
	})
}
