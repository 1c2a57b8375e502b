package times

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// PastRun is one of the last runs of a job type or a DAG.
type PastRun struct {
	WorkflowID string       `json:"workflow_id"`
	State      string       `json:"state"`
	Role       explain.Role `json:"role"`
	StartedAt  time.Time    `json:"started_at"`
	// EndedAt is zero while the run is open.
	EndedAt time.Time `json:"ended_at,omitzero"`
	// Jobs are set in the history of one job type, if the run left a result.
	Jobs *PastJobs `json:"jobs,omitempty"`
}

// PastJobs are the counts and durations of the jobs of a run.
type PastJobs struct {
	Total  int `json:"total"`
	Failed int `json:"failed"`
	// Durations of the last Of completed jobs, at most 100, in milliseconds, as their workers measured them. For a submission they are the times
	// from start to end, at most 1,000.
	P50MS int64 `json:"p50_ms"`
	P95MS int64 `json:"p95_ms"`
	Of    int   `json:"of"`
}

// RunStrip has the last runs of one job type, oldest first.
type RunStrip struct {
	JobType string    `json:"job_type"`
	Runs    []PastRun `json:"runs"`
}

// DAGStrip has the last runs of one DAG, oldest first.
type DAGStrip struct {
	DAG  string    `json:"dag"`
	Runs []PastRun `json:"runs"`
}

const (
	// stripRounds bounds the lists of visibility for one set of job types.
	stripRounds = 5
	// stripScan bounds the runs that are read for one DAG, with those of its sub-DAGs. Older runs are not shown.
	stripScan = 200
	// stripPage is the most runs in one of these lists, stripMargin the excess of the first list over an even share.
	stripPage   = 1000
	stripMargin = 20
	// stripOpen bounds the open runs that are queried. Older open runs count as running.
	stripOpen = 200
)

// Strips returns the last runs of job types. A type that runs far more often fills whole lists, so the next list leaves out the types that have enough.
func Strips(ctx context.Context, runs starter.Runs, names []string, most int) ([]RunStrip, error) {
	found := map[string][]starter.Run{}
	lacking, until := slices.Clone(names), time.Time{}
	for round := 0; round < stripRounds && len(lacking) > 0; round++ {
		limit := stripPage
		if round == 0 {
			limit = min(stripPage, most*len(lacking)+stripMargin)
		}
		listed, err := runs.List(ctx, starter.RunFilter{JobTypes: lacking, Until: until, Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, run := range listed {
			known := found[run.JobType]
			if len(known) < most && !slices.ContainsFunc(known, func(past starter.Run) bool { return past.WorkflowID == run.WorkflowID }) {
				found[run.JobType] = append(known, run)
			}
		}
		if len(listed) < limit {
			break
		}
		until = listed[len(listed)-1].Started
		lacking = slices.DeleteFunc(lacking, func(name string) bool { return len(found[name]) >= most })
	}
	var open []*starter.Run
	for _, listed := range found {
		open = appendOpen(open, listed)
	}
	stand(ctx, runs, open)
	return lists.Map(names, func(name string) RunStrip { return RunStrip{JobType: name, Runs: pastOf(found[name])} }), nil
}

// DAGStrips returns the last runs of DAGs, fewer of a DAG with many sub-DAGs. Runs of sub-DAGs are left out.
func DAGStrips(ctx context.Context, runs starter.Runs, names []string, most int) ([]DAGStrip, error) {
	strips := make([]DAGStrip, len(names))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(parallel)
	for i, name := range names {
		reading.Go(func() error {
			listed, err := runs.List(ctx, starter.RunFilter{DAG: name, SubDAGs: true, Limit: max(most, stripScan)})
			listed = slices.DeleteFunc(listed, func(run starter.Run) bool { return !run.Standalone() })
			listed = listed[:min(len(listed), most)]
			stand(ctx, runs, appendOpen(nil, listed))
			strips[i] = DAGStrip{DAG: name, Runs: pastOf(listed)}
			return err
		})
	}
	return strips, reading.Wait()
}

func appendOpen(open []*starter.Run, listed []starter.Run) []*starter.Run {
	for i := range listed {
		if listed[i].Open() {
			open = append(open, &listed[i])
		}
	}
	return open
}

// stand queries open runs for their standing: visibility lists a waiting run as running.
func stand(ctx context.Context, runs starter.Runs, open []*starter.Run) {
	slices.SortFunc(open, func(a, b *starter.Run) int { return b.Started.Compare(a.Started) })
	queried := make([]starter.Run, min(len(open), stripOpen))
	for i := range queried {
		queried[i] = *open[i]
	}
	runs.AddCounts(ctx, queried)
	for i, run := range queried {
		if run.Standing.Open { // The end of another one is not listed yet.
			open[i].Standing, open[i].Started = run.Standing, run.Started
		}
	}
}

// pastOf converts runs, newest first, to past runs, oldest first.
func pastOf(listed []starter.Run) []PastRun {
	past := make([]PastRun, 0, len(listed))
	for _, run := range slices.Backward(listed) {
		past = append(past, PastRun{WorkflowID: run.WorkflowID, State: run.Standing.State, Role: run.Standing.Role, StartedAt: run.Started, EndedAt: run.Ended})
	}
	return past
}

// RunLimit is a time limit in the policy of a job type.
type RunLimit struct {
	Name string `json:"name"`
	// Of is the bounded thing.
	Of string `json:"of" enum:"run,job"`
	MS int64  `json:"ms"`
}

// SettingsChange is a change of the settings of a job type.
type SettingsChange struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`
	Before string    `json:"before,omitempty"`
	After  string    `json:"after,omitempty"`
	// Brief names the changed setting, with both values if they are short; several are "settings".
	Brief string `json:"brief"`
	// Change is Before and After in one line, with the name of a single setting once.
	Change string `json:"change,omitempty"`
}

// RunHistory has the last runs of a job type, the changes of its settings and its limits.
type RunHistory struct {
	RunStrip

	// Counts are the runs by state.
	Counts  map[string]int   `json:"counts"`
	Limits  []RunLimit       `json:"limits"`
	Changes []SettingsChange `json:"changes"`
	// Values are the trends of the numbers that jobs returned, up to the newest run with a result.
	Values []values.Trend `json:"values"`
}

// WithoutValues leaves out the settings before and after each change: only who changed them, when and how is kept.
func (h RunHistory) WithoutValues() RunHistory {
	h.Changes = slices.Clone(h.Changes)
	for i := range h.Changes {
		change := &h.Changes[i]
		change.Before, change.After, change.Brief, change.Change = "", "", explain.TextBriefly("", ""), ""
	}
	return h
}

// Memory keeps the jobs of ended runs, which do not change. The zero value is empty.
type Memory struct {
	mu   sync.Mutex
	jobs map[endedRun]*PastJobs
}

// A backfill starts a run again under its id.
type endedRun struct {
	workflowID string
	at         time.Time
}

// maxRemembered bounds the runs in a memory: 100 job types with 30 runs each.
const maxRemembered = 3000

// History reads the last runs of a job type.
func (m *Memory) History(ctx context.Context, client *starter.Client, name string, most int) (RunHistory, error) {
	known, err := jobtypes.Of(client).Get(ctx, name)
	if err != nil {
		return RunHistory{}, err
	}
	strips, err := Strips(ctx, client.Runs(), []string{name}, most)
	if err != nil {
		return RunHistory{}, err
	}
	found := RunHistory{RunStrip: strips[0], Counts: map[string]int{}, Limits: limitsOf(known.Spec.Policy), Changes: []SettingsChange{}, Values: []values.Trend{}}
	var asking errgroup.Group
	asking.SetLimit(parallel)
	for i := range found.Runs {
		found.Counts[found.Runs[i].State]++
		asking.Go(func() error {
			found.Runs[i].Jobs = m.jobsOf(ctx, client.Runs(), found.Runs[i])
			return nil
		})
	}
	_ = asking.Wait() // The jobs of a run that cannot be read are not known.
	for _, run := range slices.Backward(found.Runs) {
		if run.Jobs == nil {
			continue
		}
		if newest, err := client.Runs().Show(ctx, starter.RunRef{WorkflowID: run.WorkflowID}); err == nil && len(newest.Values) > 0 {
			found.Values = newest.Values
		}
		break
	}
	if len(found.Runs) > 0 {
		found.Changes, err = changesOf(ctx, client, name, found.Runs[0].StartedAt)
	}
	return found, err
}

const parallel = 8

func limitsOf(policy jobtype.Policy) []RunLimit {
	limits := []RunLimit{}
	if policy.MaxRuntime > 0 {
		limits = append(limits, RunLimit{Name: "max_runtime", Of: "run", MS: policy.MaxRuntime.Std().Milliseconds()})
	}
	if policy.ExecutionTimeout > 0 {
		limits = append(limits, RunLimit{Name: "execution_timeout", Of: "job", MS: policy.ExecutionTimeout.Std().Milliseconds()})
	}
	return limits
}

func changesOf(ctx context.Context, client *starter.Client, name string, since time.Time) ([]SettingsChange, error) {
	changes := []SettingsChange{}
	page, err := client.Audit().Read(ctx, contract.AuditFilter{Since: since, JobType: name, Kind: contract.AuditOperator})
	if err != nil {
		return changes, err
	}
	for _, entry := range page.Entries {
		if changesSettings(entry.Action) {
			changes = append(changes, SettingsChange{
				Seq: entry.Seq, At: entry.At, By: entry.Actor, Action: entry.Action, Before: entry.Before, After: entry.After,
				Brief: explain.TextBriefly(entry.Before, entry.After), Change: explain.TextChange(entry.Before, entry.After),
			})
		}
	}
	return changes, nil
}

func changesSettings(action string) bool {
	return action == "jobtype.set" || action == contract.AuditRestore || action == "apply.update" || action == "apply.drift"
}

func (m *Memory) jobsOf(ctx context.Context, runs starter.Runs, past PastRun) *PastJobs {
	if past.EndedAt.IsZero() {
		return nil
	}
	key := endedRun{past.WorkflowID, past.EndedAt}
	m.mu.Lock()
	jobs, known := m.jobs[key]
	m.mu.Unlock()
	if known {
		return jobs
	}
	jobs, err := read(ctx, runs, past.WorkflowID)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.jobs) >= maxRemembered || m.jobs == nil {
		m.jobs = map[endedRun]*PastJobs{}
	}
	m.jobs[key] = jobs
	return jobs
}

// exactJobs is the most jobs of a submission that are read one by one.
const exactJobs = 1000

func read(ctx context.Context, runs starter.Runs, workflowID string) (*PastJobs, error) {
	ref := starter.RunRef{WorkflowID: workflowID}
	run, err := runs.Show(ctx, ref)
	if err != nil || run.Result == nil || run.Progress == nil {
		return nil, err
	}
	jobs := &PastJobs{Total: run.Progress.Total, Failed: run.Progress.Failed}
	took := ownOf(*run.Result)
	if run.AdHoc != "" && jobs.Total <= exactJobs {
		if took, err = spansOf(ctx, runs, ref); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	jobs.P50MS, jobs.P95MS, jobs.Of = percentile(took, 50), percentile(took, 95), len(took)
	return jobs, nil
}

// ownOf returns the durations of the run's own jobs. The record has them behind those of earlier runs, and is the source of the learned p95.
func ownOf(result contract.JobGroupResult) []int64 {
	took := result.Record.TookMS
	return slices.Clone(took[max(0, len(took)-result.Counts.Done()):])
}

// spansOf reads the jobs of a submission, which has no record.
func spansOf(ctx context.Context, runs starter.Runs, ref starter.RunRef) (took []int64, err error) {
	items, _, err := runs.Items(ctx, ref, starter.ItemFilter{States: []string{contract.JobCompleted, contract.JobWarning}, Limit: exactJobs})
	for _, item := range items {
		if _, ms, is := spanOf(item); is && ms >= 0 {
			took = append(took, ms)
		}
	}
	return took, err
}

func percentile(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
