package launch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

// The schema and the struct have the same keys.
func TestSchemaHasEveryKey(t *testing.T) {
	t.Parallel()
	var fields []string
	for field := range reflect.TypeFor[launch.Spec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	slices.Sort(fields)
	assert.Equal(t, fields, launch.Keys())
	for key, schema := range launch.Schema() {
		assert.True(t, json.Valid(schema), key)
	}
	lacks := string(launch.AddTo([]byte(`{"properties":{}}`), "exit_codes.permanent", "exit_codes.defer"))
	assert.NotContains(t, lacks, `"permanent"`)
	assert.NotContains(t, lacks, `"defer"`)
	assert.Contains(t, lacks, `"warning"`)
}

func TestEnvFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"A=1\nB=two words  \n\n; no\n# no\nC=\"a b \" \n": {"A=1", "B=two words", "C=a b "},
		"A='a\"\\n'\nB=\"a\\\"b\\\\c\\d\"\nC=a\\ b\\\nc":  {`A=a"\n`, `B=a"b\c\d`, "C=a bc"},
		"A=\"x\ny\"z\nB=\r\n":                             {"A=x\nyz", "B="},
		"A = 1":                                           {"A=1"},
		"A=x \t\r\nB=\"y\r\"\r\nC=\"z\" \r":               {"A=x", "B=y\r", "C=z"},
		"A=it's\nB=that's\n":                              {"A=it's", "B=that's"},
		"A=p4\"ss\nB=x'y'z \n":                            {`A=p4"ss`, "B=x'y'z"},
		"A=\"a\" 'b' c\nB='a'b'c'\n":                      {"A=abc", "B=ab'c'"},
		"A=a\\":                                           {"A=a"},
		"A=a \\\n b\nB=b\\\n":                             {"A=a  b", "B=b"},
		"A=a\\ \nB=\"a\\\nb\"\n":                          {"A=a ", "B=ab"},
		"A=a\\\r\nB=1\r\n":                                {"A=a", "B=1"},
		"\ufeffA=1\r\n# no\\\nB=2":                        {"A=1", "B=2"},
		"":                                                nil,
	} {
		got, err := launch.ParseEnvFile(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"A=1\nnothing\n": `line 2 is no NAME=VALUE`, "=x": "is no NAME=VALUE", "\nA=\"x": `line 2: the quote " is not closed`,
		"export A=1": `line 1 is no NAME=VALUE`, "A=\n\x00": "line 2 has a NUL byte", "A=\\\x00": "NUL", "A='\x00'": "NUL",
	} {
		_, err := launch.ParseEnvFile(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// systemd itself reads a file in the same way.
func TestEnvFileAsSystemd(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		t.Skip("no systemd runs here")
	}
	text := "A=1\nB=two words  \nC=\"a b \" \nD='a\"\\n'\nE=\"a\\\"b\\\\c\\d\"\nF=a\\ b\\\nc\nG=\"x\ny\"z\nH=it's\nI=\"a\" 'b' c\nJ=x\"y\" \n"
	path := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) //nolint:gosec // systemd reads it
	output, err := exec.Command("systemd-run", "--pipe", "--quiet", "-p", "EnvironmentFile="+path, "env", "-0").Output()
	require.NoError(t, err)
	want, err := launch.ParseEnvFile(text)
	require.NoError(t, err)
	for _, variable := range want {
		assert.Contains(t, strings.Split(string(output), "\x00"), variable)
	}
}

// Any value in double quotes, with the escapes of a shell, is read unchanged.
func TestEnvFileKeepsQuotedValues(t *testing.T) {
	t.Parallel()
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("a= \t\r\n\"'\\`$#;é"))), 1, 4).Draw(t, "values")
		var text strings.Builder
		var want []string
		for k, value := range values {
			fmt.Fprintf(&text, "V%d=\"%s\"%s", k, escape.Replace(value), rapid.SampledFrom([]string{"\n", "\r\n", " \n\n"}).Draw(t, "end"))
			want = append(want, fmt.Sprintf("V%d=%s", k, value))
		}
		got, err := launch.ParseEnvFile(text.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestOver(t *testing.T) {
	t.Parallel()
	defaults := map[string]any{"user": "a", "env": map[string]any{"A": "1", "B": "2"}, "groups": []any{"x"}}
	own := map[string]any{"env": map[string]any{"B": "3"}, "groups": []any{"y"}}
	assert.Equal(t, map[string]any{"user": "a", "env": map[string]any{"A": "1", "B": "3"}, "groups": []any{"y"}}, launch.Over(defaults, own))
	assert.Equal(t, map[string]any{"A": "1", "B": "2"}, defaults["env"], "the defaults stay")
}

func TestAnExitCodeHasOneMeaning(t *testing.T) {
	t.Parallel()
	faults := func(codes launch.ExitCodes) (texts []string) {
		for _, err := range (launch.Spec{ExitCodes: codes}).Faults() {
			texts = append(texts, err.Error())
		}
		return texts
	}
	assert.Empty(t, faults(launch.ExitCodes{Success: []int{0, 2}, Warning: []int{1}, Permanent: []int{3}}))
	assert.Equal(t, []string{"exit_codes: 0 cannot be both success and warning"}, faults(launch.ExitCodes{Warning: []int{0}}), "0 is a success unless success says otherwise")
	assert.Equal(t, []string{"exit_codes: 3 cannot be both warning and permanent"}, faults(launch.ExitCodes{Warning: []int{3}, Permanent: []int{3}}))
	assert.Equal(t, []string{"exit_codes: 256 is no exit code: use 0 to 255"}, faults(launch.ExitCodes{Warning: []int{256}}))
}

func TestWaits(t *testing.T) {
	t.Parallel()
	read, err := launch.Decode([]byte(`{"exit_codes": {"defer": {"75": "5m", "11": "1s"}}, "guard": {"command": ["true"], "every": "24h"}}`))
	require.NoError(t, err)
	assert.Empty(t, read.Faults())
	assert.Equal(t, 24*time.Hour, read.Guard.Interval())
	assert.Equal(t, time.Minute, launch.Guard{}.Interval())
	for text, want := range map[string]string{
		`{"exit_codes": {"defer": {"0": "5m"}}}`:                     "exit_codes: 0 cannot be both success and defer",
		`{"exit_codes": {"permanent": [75], "defer": {"75": "5m"}}}`: "exit_codes: 75 cannot be both permanent and defer",
		`{"exit_codes": {"defer": {"256": "5m"}}}`:                   "exit_codes: 256 is no exit code",
		`{"exit_codes": {"defer": {"75": "0s"}}}`:                    "exit_codes.defer.75: 0s is out of range: use 1s to 24h",
		`{"guard": {"every": "2m"}}`:                                 "guard.command: name a program",
		`{"guard": {"command": [""]}}`:                               "guard.command: names no program",
		`{"guard": {"command": ["true"], "every": "25h"}}`:           "guard.every: 25h is out of range",
	} {
		read, err := launch.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Len(t, read.Faults(), 1, text)
		assert.ErrorContains(t, read.Faults()[0], want)
	}
	changed := read.Map(func(path, text string) string { return path + "=" + text })
	assert.Equal(t, []string{"guard.command[0]=true"}, changed.Guard.Command)
}
