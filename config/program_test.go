package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

func withCommand(o *config.Options) {
	handler := command.New(command.Options{})
	o.Handlers = append(o.Handlers, handler.Descriptor())
	if o.Validators == nil {
		o.Validators = map[string]jobtype.SettingsValidator{}
	}
	o.Validators["command"] = handler
}

const defaultsOfAFile = `version: 1
defaults:
  user: postgres
  env: {PGHOST: /run/postgresql, PGPORT: 5432}
  exit_codes: {success: [0, 1], permanent: [2]}
job_types:
  a:
    handler: command
    schedule: {every: 1m}
    detect: {command: [ls], user: 1000}
    execute: {command: [rm], env: {PGPORT: "{{.Params.port}}"}, exit_codes: {success: [0]}}
`

func TestDefaultsOfAFile(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Options{Sources: []config.Source{
		{Name: "a.yaml", Data: []byte(defaultsOfAFile)},
		{Name: "b.yaml", Data: []byte("version: 1\njob_types: {b: {handler: command, schedule: {every: 1m}, each_worker: true, execute: {command: [rm]}}}\n")},
	}, Handlers: handlersOf(withCommand).Handlers, Validators: handlersOf(withCommand).Validators})
	require.NoError(t, err)
	a, b := loaded.JobTypes["a"], loaded.JobTypes["b"]
	assert.JSONEq(t, `{"command":["ls"],"user":"1000","env":{"PGHOST":"/run/postgresql","PGPORT":"5432"},"exit_codes":{"success":[0,1]}}`, string(a.Detect))
	assert.JSONEq(t, `{"command":["rm"],"user":"postgres","env":{"PGHOST":"/run/postgresql","PGPORT":"{{.Params.port}}"},"exit_codes":{"success":[0],"permanent":[2]}}`, string(a.Execute))
	assert.JSONEq(t, `{"command":["rm"]}`, string(b.Execute), "defaults are those of their own file")
}

// Two references to one secret would be a fault, so the job type's replaces that of defaults.
func TestAReferenceReplacesThatOfDefaults(t *testing.T) {
	t.Parallel()
	text := `version: 1
defaults: {env: {A: {file: /a}, B: {file: /b}}}
job_types: {a: {handler: command, schedule: {every: 1m}, each_worker: true, execute: {command: [rm], env: {A: {command: [pass, a]}}}}}
`
	loaded, err := config.Load(config.Options{
		Sources: []config.Source{{Name: "a.yaml", Data: []byte(text)}}, Handlers: handlersOf(withCommand).Handlers, Validators: handlersOf(withCommand).Validators,
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"command":["rm"],"env":{"A":{"command":["pass","a"]},"B":{"file":"/b"}}}`, string(loaded.JobTypes["a"].Execute))
}

func handlersOf(change func(*config.Options)) config.Options {
	var o config.Options
	change(&o)
	return o
}

func TestFaultsOfPrograms(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`r.yaml:2:12: defaults.usr: unknown key: did you mean "user"?`,
		"r.yaml:2:28: defaults.groups: groups must be a list, not string",
	}, faults(t, `version: 1
defaults: {usr: x, groups: y}
job_types: {a: {handler: command, schedule: {every: 1m}, detect: {command: [ls]}, execute: {command: [rm]}}}
`, withCommand))
	assert.Equal(t, []string{
		"r.yaml:2:21: job_types.a.detect.env.A: there is no .Job here; a template knows .Params, .Cluster, .Detect, .Run, .Schedule, .Worker",
	}, faults(t, `version: 1
defaults: {env: {A: "{{.Job.ID}}"}}
job_types: {a: {handler: command, schedule: {every: 1m}, detect: {command: [ls]}, execute: {command: [rm]}}}
`, withCommand))
	assert.Equal(t, []string{
		"r.yaml:2:25: notify.receivers.a: command.kill_grace: 2h is out of range: use 0s to 1h",
		`r.yaml:3:54: notify.receivers.b.command.usr: unknown key: did you mean "user"?`,
	}, faults(t, `version: 1
notify: {receivers: {a: &x {command: {argv: [ls], user: root, kill_grace: 2h}},
  b: {command: {argv: [ls], env: {A: 1}, user: 1000, usr: x}}}}
job_types: {a: {handler: command, schedule: {every: 1m}, detect: {command: [ls]}, execute: {command: [rm]}}}
`, withCommand))
}

// TestKeysWithinKeysAreSuggested: also where a schema refers to a part of itself.
func TestKeysWithinKeysAreSuggested(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`r.yaml:2:110: job_types.a.execute.hooks.befor: unknown key: did you mean "before"?`,
		`r.yaml:2:131: job_types.a.execute.guard.evry: unknown key: did you mean "every"?`,
	}, faults(t, `version: 1
job_types: {a: {handler: command, each_worker: true, schedule: {every: 1m}, execute: {command: [rm], hooks: {befor: [x]}, guard: {evry: 1m, command: [x]}}}}
`, withCommand))
}

// The complete example of docs/programs.md, and every kind of reference to a secret, has no faults and no
// warnings.
func TestExampleOfPrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/programs.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(text), "## Example: PostgreSQL\n\n```yaml\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	example = strings.Replace(example, "PGPASSFILE:", "AWS_SECRET_ACCESS_KEY: {credential: aws}\n    RESTIC_PASSWORD: {command: [pass, show, restic]}\n    PGPASSFILE:", 1)
	loaded, err := config.Load(config.Options{
		Sources: []config.Source{{Name: "programs.md", Data: []byte(example)}}, Handlers: handlersOf(withCommand).Handlers, Validators: handlersOf(withCommand).Validators,
	})
	require.NoError(t, err)
	assert.Empty(t, loaded.Warnings)
	assert.Contains(t, string(loaded.JobTypes["vacuum"].Execute), `"PGPASSWORD":{"file":"/etc/roundsman/pg.password"}`)
}

func TestFaultsOfSecrets(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"{fil: x}":                  "r.yaml:4:62: job_types.a.execute.env.A.fil: unknown key",
		"{file: /x, credential: y}": "r.yaml:4:61: job_types.a.execute.env.A: write one of file, credential and command",
		"{}":                        "r.yaml:4:61: job_types.a.execute.env.A: minProperties: got 0, want 1",
	} {
		assert.Equal(t, []string{want}, faults(t, `version: 1
job_types:
  a: {handler: command, schedule: {every: 1m}, each_worker: true,
    execute: {command: [rm], env: {OK: {file: /x}, N: 5, A: `+written+`}}}
`, withCommand))
	}
}

// A task and the block execute keep outputs. A detection and a receiver do not.
func TestOutputIsForJobs(t *testing.T) {
	t.Parallel()
	job := "job_types: {a: {handler: command, schedule: {every: 1m}, detect: {command: [ls]%s}, execute: {command: [rm], output: {keep: 7d, max: 1MiB}}}}\n"
	loaded, err := config.Load(config.Options{
		Sources:  []config.Source{{Name: "a.yaml", Data: []byte("version: 1\ndefaults: {output: {max: 64KiB, keep: 1d}}\n" + strings.Replace(strings.Replace(job, "%s", "", 1), ", max: 1MiB", "", 1))}},
		Handlers: handlersOf(withCommand).Handlers, Validators: handlersOf(withCommand).Validators,
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"command":["rm"],"output":{"keep":"7d","max":"64KiB"}}`, string(loaded.JobTypes["a"].Execute))
	assert.JSONEq(t, `{"command":["ls"]}`, string(loaded.JobTypes["a"].Detect))
	found := strings.Join(faults(t, "version: 1\n"+strings.Replace(job, "%s", ", output: {keep: 1d}", 1), withCommand), "\n")
	assert.Contains(t, found, "detect.output")
	found = strings.Join(faults(t, `version: 1
notify: {receivers: {ops: {command: {argv: [mail], output: {keep: 1d}}}}}
`, withCommand), "\n")
	assert.Contains(t, found, "command.output")
	found = strings.Join(faults(t, "version: 1\n"+strings.Replace(strings.Replace(job, "%s", "", 1), "1MiB", "10MB", 1), withCommand), "\n")
	assert.Contains(t, found, "write it like 512KiB, 10MiB or 2GiB")
}
