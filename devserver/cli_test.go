package devserver_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/devserver"
)

// run runs the command in this process, for everything that starts no server.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = devserver.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--help", "-h"} {
		code, stdout, stderr := run(t, flag)
		assert.Zero(t, code)
		assert.Empty(t, stderr)
		for _, documented := range []string{
			"--port", "--ui-port", "--headless", "--db-filename", "--postgres", "--namespace",
			"--ready-file", "--log-level", "--exit-on-stdin-eof", "--version",
		} {
			assert.Contains(t, stdout, documented)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, stdout, _ := run(t, "--version")
	assert.Zero(t, code)
	assert.Regexp(t, `^roundsman-devserver \S+ \(Temporal server v1\.\d+\.\d+, Web UI v2\.\d+\.\d+\)\n$`, stdout)
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"unknown flag":     {[]string{"--colour"}, []string{"-colour"}},
		"argument":         {[]string{"start"}, []string{"unexpected argument start"}},
		"not a number":     {[]string{"--port", "http"}, []string{"-port"}},
		"port range":       {[]string{"--port", "65536"}, []string{"--port 65536", "between 0 and 65535"}},
		"negative port":    {[]string{"--port", "-1"}, []string{"--port -1"}},
		"ui port range":    {[]string{"--ui-port", "-2"}, []string{"--ui-port -2", "between -1 and 65535"}},
		"same port":        {[]string{"--port", "9000", "--ui-port", "9000"}, []string{"both 9000"}},
		"two stores":       {[]string{"--db-filename", "a", "--postgres", "b"}, []string{"exclude each other"}},
		"namespace":        {[]string{"--namespace", "a b"}, []string{`--namespace "a b"`}},
		"system namespace": {[]string{"--namespace", "temporal-system"}, []string{"reserved"}},
		"log level":        {[]string{"--log-level", "loud"}, []string{`"loud"`, "debug, info, warn, error"}},
		"all at once": {
			[]string{"--port", "-1", "--namespace", "", "--log-level", "loud", "--db-filename", "a", "--postgres", "b"},
			[]string{"--port -1", "--log-level", "exclude each other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, c.args...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			for _, want := range c.want {
				assert.Contains(t, stderr, want)
			}
			assert.Contains(t, stderr, "--help")
		})
	}
}
