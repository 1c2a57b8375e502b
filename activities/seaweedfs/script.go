package seaweedfs

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/jobtype"
)

//go:embed script.schema.json
var scriptSchema []byte

// defaultScript is the default of SeaweedFS's own admin server.
const defaultScript = "fs.log.purge -daysAgo=7\nvolume.deleteEmpty -quietFor=24h -apply\nvolume.fix.replication -apply\ns3.clean.uploads -timeAgo=24h\n"

type script struct {
	clusterUser
	connections *Connections
	runner      *command.Runner
	now         func() time.Time
}

var (
	_ jobtype.Handler           = (*script)(nil)
	_ jobtype.SettingsValidator = (*script)(nil)
)

func newScript(connections *Connections, runner *command.Runner) *script {
	return &script{connections: connections, runner: runner, now: time.Now}
}

type scriptSettings struct {
	Script             string           `json:"script"`
	RunIntervalMinutes int              `json:"run_interval_minutes"`
	Weed               string           `json:"weed"`
	Timeout            jobtype.Duration `json:"timeout"`
	Target             json.RawMessage  `json:"target"`
}

func (s *scriptSettings) validate() error {
	faults := []error{inRange("run_interval_minutes", float64(s.RunIntervalMinutes), 1, 525_600)}
	if s.Timeout < jobtype.Duration(time.Second) || s.Timeout > jobtype.Duration(8*time.Hour) {
		faults = append(faults, fmt.Errorf("params.timeout: %s is out of range: use 1s to 8h", s.Timeout))
	}
	if s.Weed == "" {
		faults = append(faults, errors.New("params.weed: name the program, for example /usr/local/bin/weed"))
	}
	return errors.Join(faults...)
}

func readScript(params json.RawMessage) (*scriptSettings, error) {
	s := &scriptSettings{Script: defaultScript, RunIntervalMinutes: int(scriptInterval.Std() / time.Minute), Weed: "weed", Timeout: jobtype.Duration(20 * time.Minute)}
	return s, readParams(params, s)
}

// commands are the lines without comments; lock and unlock are added around them.
func (s *scriptSettings) commands() []string {
	var commands []string
	for line := range strings.Lines(s.Script) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		for command := range splitCommands(line) {
			if name, _, _ := strings.Cut(command, " "); name != "" && name != "lock" && name != "unlock" && name != "exit" {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

func splitCommands(line string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start, quote := 0, rune(0)
		for i, r := range line {
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote == 0 && (r == '"' || r == '\''):
				quote = r
			case quote == 0 && r == ';':
				if !yield(strings.TrimSpace(line[start:i])) {
					return
				}
				start = i + 1
			}
		}
		yield(strings.TrimSpace(line[start:]))
	}
}

// maxEarly is the largest tolerance of run_interval_minutes.
const maxEarly = 30 * time.Second

// The tolerance covers clocks of different machines: an interval equal to the schedule's runs at every tick.
func (s *scriptSettings) nextRun(last time.Time) time.Time {
	interval := time.Duration(s.RunIntervalMinutes) * time.Minute
	return last.Add(interval - min(interval/10, maxEarly))
}

// scriptInterval is SeaweedFS's default interval.
const scriptInterval = jobtype.Duration(17 * time.Minute)

// Descriptor implements [jobtype.Handler].
func (s *script) Descriptor() jobtype.Descriptor {
	policy := volumePolicy(5*time.Minute, 1, 30*time.Second)
	policy.GlobalExecutionConcurrency, policy.PerWorkerExecutionConcurrency, policy.RetryLimit = 1, 1, 0
	policy.OnDisconnect, policy.StopAfter = "", 0
	return jobtype.Descriptor{
		Name: "admin_script", Help: "Runs a maintenance script through `weed shell`, which must be installed on the worker, under the cluster's shell lease.",
		Params: scriptSchema, DefaultPolicy: policy, DefaultInterval: scriptInterval, MaxExecuteConcurrency: 1,
	}
}

// ValidateSettings implements [jobtype.SettingsValidator].
func (s *script) ValidateSettings(params, detect, execute json.RawMessage) error {
	if len(detect) > 0 || len(execute) > 0 {
		return errors.New("the admin_script handler takes no `detect:` and no `execute:` block, only params")
	}
	_, err := readScript(params)
	return err
}

// Detect implements [jobtype.Handler]. The script is the only job.
func (s *script) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	settings, err := readScript(in.Params)
	if err != nil {
		return jobtype.Permanent(err)
	}
	if _, err := ReadSpec(in.Cluster); err != nil {
		return jobtype.Permanent(err)
	}
	commands := settings.commands()
	if len(commands) == 0 {
		jobtype.Explain(out, "the script has no commands")
		return nil
	}
	if next := settings.nextRun(in.LastWithJobs); s.now().Before(next) {
		jobtype.Explain(out, fmt.Sprintf("it ran %s ago, and runs again %s later by run_interval_minutes %d",
			s.now().Sub(in.LastWithJobs).Round(time.Second), next.Sub(s.now()).Round(time.Second), settings.RunIntervalMinutes))
		return nil
	}
	return out.Emit(ctx, jobtype.Proposal{
		DedupeKey: "admin-script:" + scriptHash(commands), Summary: fmt.Sprintf("admin script: %d commands", len(commands)),
		EstimatedRuntime: settings.Timeout,
	})
}

func scriptHash(commands []string) string {
	hash := sha256.Sum256([]byte(strings.Join(commands, "\n")))
	return hex.EncodeToString(hash[:])
}

// Execute implements [jobtype.Handler]. The process's own jobs release the lease until the shell has ended. A stopped
// script leaves its lease to expire in 10 s.
func (s *script) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	settings, err := readScript(job.Params)
	if err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	cluster, err := s.connections.of(job.Cluster)
	if err != nil {
		return jobtype.Result{}, err
	}
	program, err := exec.LookPath(settings.Weed)
	if err != nil {
		return jobtype.Result{}, fmt.Errorf("NO_WEED: admin_script needs %s: %w: install it, or set params.weed: %w", settings.Weed, jobtype.ErrNotInstalled, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settings.Timeout.Std(), fmt.Errorf("the script took longer than %s", settings.Timeout))
	defer cancel()
	progress.Report(-1, "waiting for running jobs", "")
	var run *shellRun
	err = cluster.keeper.Without(ctx, func() error {
		run = &shellRun{commands: settings.commands(), progress: progress}
		return run.run(ctx, s.runner, program, cluster.spec)
	})
	if err != nil {
		return jobtype.Result{}, err
	}
	return run.result()
}
