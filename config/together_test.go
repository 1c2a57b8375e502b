package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

// One load reports all faults.
func TestTemplateFaultsComeWithAllOthers(t *testing.T) {
	t.Parallel()
	handler := command.New(command.Options{})
	got := faults(t, `version: 2
job_types:
  a:
    handler: command
    schedule: {evry: 1m}
    policy: {retry_limit: -1}
    detect:
      comand: [ls]
      env: {A: "{{.Parms.x}}"}
    execute:
      command: [rm, "{{", "{{.Jbo.ID}}"]
      progress: maybe
  b:
    handler: command
    schedule: {every: 1m}
    detect: {command: []}
    execute: {command: [rm, "{{range 3}}{{end}}"], dir: 7}
`, func(o *config.Options) {
		o.Handlers = []jobtype.Descriptor{handler.Descriptor()}
		o.Validators = map[string]jobtype.SettingsValidator{"command": handler}
	})
	assert.Equal(t, []string{
		"r.yaml:1:10: version: 2 is not known: this Roundsman reads version 1",
		"r.yaml:5:15: job_types.a.schedule: says neither every nor cron, and handler command has no default interval: write `every: 1h` or `cron: \"0 2 * * *\"`",
		"r.yaml:5:16: job_types.a.schedule.evry: unknown key: did you mean \"every\"?",
		"r.yaml:6:27: job_types.a.policy.retry_limit: -1 is out of range: use 0 to 100",
		"r.yaml:8:7: job_types.a.detect.comand: unknown key: did you mean \"command\"?",
		"r.yaml:8:7: job_types.a.detect.command: name a program, for example [find, /var/log, -name, \"*.log\"], or write shell with a script",
		"r.yaml:9:16: job_types.a.detect.env.A: there is no .Parms here; a template knows .Params, .Cluster, .Detect, .Run, .Schedule, .Worker; did you mean .Params?",
		"r.yaml:11:21: job_types.a.execute.command[1]: not a valid template: unclosed action",
		"r.yaml:11:27: job_types.a.execute.command[2]: there is no .Jbo here; a template knows .Params, .Cluster, .Job, .Batch, .Run, .Schedule, .Worker; did you mean .Job?",
		"r.yaml:12:17: job_types.a.execute.progress: value must be one of 'lines', 'none'",
		"r.yaml:16:23: job_types.b.detect.command: has 0 entries, and needs 1 or more",
		"r.yaml:17:29: job_types.b.execute.command[1]: range works on lists and maps of the data, like {{range .Params.items}}",
	}, got)
}
