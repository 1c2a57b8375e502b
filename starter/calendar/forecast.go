package calendar

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/forecast"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const parallel = 8

// ForecastTick is the forecast of one instant.
type ForecastTick = forecast.Tick

// Week is the span of forecasts and of ledgers.
const Week = 7 * 24 * time.Hour

// Forecast holds the ticks of the next days.
type Forecast struct {
	AsOf  time.Time `json:"as_of"`
	Until time.Time `json:"until"`
	// Ticks are in order of time, Types in order of name.
	Ticks []forecast.Tick `json:"ticks"`
	Types []ForecastType  `json:"job_types"`
	// Days count all ticks, also beyond the limit.
	Days []Day `json:"days,omitempty" doc:"All instants by day, also those that the limit left out"`
	// Number of later ticks that the limit left out.
	More int `json:"more,omitempty" doc:"Later ticks that the limit left out"`

	known []jobtypes.JobType
}

// ForecastType holds the data of a job type that the forecast uses.
type ForecastType struct {
	JobType string `json:"job_type"`
	Lane    string `json:"lane,omitempty"`
	// Typical is the median of Of runs. Of 0 means unknown, and runs count as short.
	Typical jobtype.Duration `json:"typical,omitempty"`
	Of      int              `json:"of"`
	Due     int              `json:"due"`
	Runs    int              `json:"runs"`
	Skipped int              `json:"skipped"`

	lastSuccess time.Time
	// Notes are facts that keep the forecast from being exact.
	Notes []string `json:"notes,omitempty"`
	// Reason why the job type is not in the forecast.
	Fault string `json:"fault,omitempty"`
}

// ForecastOf computes the next days of the named job types. It simulates all, since they share lanes.
func ForecastOf(ctx context.Context, client *starter.Client, now time.Time, ahead time.Duration, names ...string) (Forecast, error) {
	found, err := new(Memory).forecast(ctx, client, now, ahead)
	return found.of(names), err
}

// Forecast is [ForecastOf] with a memory of earlier forecasts. Callers at the same time share one forecast.
func (m *Memory) Forecast(ctx context.Context, client *starter.Client, ahead time.Duration, names ...string) (Forecast, error) {
	found, err := m.shared(ctx, ahead.String(), func(ctx context.Context, now time.Time) (Forecast, error) {
		return m.forecast(ctx, client, now, ahead)
	})
	return found.of(names), err
}

// of returns a copy with the named job types, or with all.
func (f Forecast) of(names []string) Forecast {
	other := func(name string) bool { return len(names) > 0 && !slices.Contains(names, name) }
	f.Ticks = slices.DeleteFunc(append([]forecast.Tick{}, f.Ticks...), func(t forecast.Tick) bool { return other(t.JobType) })
	f.Types = slices.DeleteFunc(append([]ForecastType{}, f.Types...), func(t ForecastType) bool { return other(t.JobType) })
	return f
}

func (m *Memory) forecast(ctx context.Context, client *starter.Client, now time.Time, ahead time.Duration) (Forecast, error) {
	known, err := jobtypes.Of(client).List(ctx)
	if err != nil {
		return Forecast{}, err
	}
	if err := jobtypes.Of(client).AddHolds(ctx, known); err != nil && !starter.Unanswered(err) {
		return Forecast{}, err // Without a control plane no holds are known.
	}
	found := Forecast{AsOf: now, Until: now.Add(ahead), Types: make([]ForecastType, len(known)), Ticks: []forecast.Tick{}, known: known}
	types := make([]forecast.JobType, len(known))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range known {
		group.Go(func() error {
			var err error
			types[i], found.Types[i], err = m.forecastType(groupCtx, client, known[i], now, found.Until)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Forecast{}, fmt.Errorf("forecast: %w", err)
	}
	m.forget(known)
	addConditions(types, known, found.Types)
	if types, err = withHolders(ctx, client, types); err != nil {
		return Forecast{}, fmt.Errorf("forecast: %w", err)
	}
	for _, tick := range forecast.Of(now, types) {
		tick.Text = explain.TextTick(tick.Code)
		if run := explain.RunOf(tick.Object); run != nil {
			tick.Run = run.Run
		}
		found.Ticks = append(found.Ticks, tick)
	}
	count(found.pointers(), found.Ticks)
	return found, nil
}

func (f Forecast) pointers() iter.Seq[*ForecastType] {
	return func(yield func(*ForecastType) bool) {
		for i := range f.Types {
			if !yield(&f.Types[i]) {
				return
			}
		}
	}
}

// count sets the counts of job types. It reads each once: 10,000 job types may have a million ticks.
func count(types iter.Seq[*ForecastType], all []forecast.Tick) {
	due, runs := map[string]int{}, map[string]int{}
	for _, tick := range all {
		due[tick.JobType]++
		if tick.State == contract.TickRuns {
			runs[tick.JobType]++
		}
	}
	for one := range types {
		one.Due, one.Runs, one.Skipped = due[one.JobType], runs[one.JobType], due[one.JobType]-runs[one.JobType]
	}
}

func (m *Memory) forecastType(ctx context.Context, client *starter.Client, known jobtypes.JobType, now, until time.Time) (forecast.JobType, ForecastType, error) {
	spec := known.Spec
	told := ForecastType{JobType: known.Name, Fault: known.Fault}
	in := forecast.JobType{
		Name: known.Name, Overlap: spec.Policy.Overlap, MaxWait: spec.Interval.Std(), Paused: known.Paused, MaxRuntime: spec.Policy.MaxRuntime.Std(),
	}
	if spec.Lane != "" && !spec.LaneShared {
		in.Lane, told.Lane = spec.Lane, spec.Lane
	}
	if spec.Policy.OnDeadline == jobtype.DeadlineDrain {
		in.DeadlineGrace = spec.Policy.DrainGrace.Std()
	}
	if spec.Policy.OnWindowEnd != jobtype.WindowEndCheckpoint {
		in.WindowGrace = spec.Policy.DrainGrace.Std()
	}
	if known.HeldBack != nil {
		in.HeldUntil = known.HeldBack.Until
	}
	if told.Fault != "" {
		return in, told, nil
	}
	if told.Fault = openSpans(&in, spec, now, until); told.Fault != "" {
		return in, told, nil
	}
	var err error
	in.Ticks, err = jobtypes.Of(client).Due(ctx, known.Name, now, until)
	if errors.Is(err, starter.ErrNotFound) {
		told.Fault = "it was deleted a moment ago"
		return in, told, nil
	}
	if err != nil {
		return in, told, err
	}
	last, err := m.last(ctx, known, client.Runs().Show)
	if err != nil {
		return in, told, err
	}
	in.Typical, told.Typical, told.Of, told.lastSuccess = last.usual.Took.Std(), last.usual.Took, last.usual.Of, last.success
	if in.Buffered, err = bufferedOf(ctx, client, known); err != nil {
		return in, told, err
	}
	in.Running, told.Notes = runningOf(ctx, client, known)
	return in, told, nil
}

// withHolders adds the runs that hold lanes without a Schedule, with the usual duration of their job type.
func withHolders(ctx context.Context, client *starter.Client, types []forecast.JobType) ([]forecast.JobType, error) {
	view, err := client.Admission().View(ctx, contract.AdmissionFilter{Limit: maxLanes})
	if err != nil {
		if _, none := errors.AsType[*starter.NoAdmissionError](err); none || starter.Unanswered(err) {
			err = nil
		}
		return types, err
	}
	scheduled := len(types)
	for _, lane := range view.Lanes {
		holder := lane.Holder
		if holder == nil || slices.ContainsFunc(types[:scheduled], func(t forecast.JobType) bool {
			return slices.ContainsFunc(t.Running, func(r forecast.Running) bool { return r.WorkflowID == holder.WorkflowID })
		}) {
			continue
		}
		other := forecast.JobType{Name: holder.WorkflowID, Lane: lane.Name, Running: []forecast.Running{{WorkflowID: holder.WorkflowID, Since: holder.Since}}}
		if at := slices.IndexFunc(types[:scheduled], func(t forecast.JobType) bool { return t.Name == holder.JobType }); at >= 0 {
			other.Typical, other.MaxRuntime = types[at].Typical, types[at].MaxRuntime
		}
		types = append(types, other)
	}
	return types, nil
}

// maxLanes is the number of lanes requested, and the most that admission returns.
const maxLanes = 500

// openSpans computes the open windows of a job type and of its lane.
func openSpans(in *forecast.JobType, spec contract.JobTypeSpec, from, to time.Time) (fault string) {
	if spec.Calendar.Empty() && spec.LaneCalendar.Empty() {
		return ""
	}
	own, err := window.New(spec.Calendar, time.LoadLocation)
	if err != nil {
		return err.Error() + ": run apply to repair it"
	}
	lane, err := window.New(spec.LaneCalendar, time.LoadLocation)
	if err != nil {
		return "lane " + spec.Lane + ": " + err.Error() + ": run apply to repair it"
	}
	within := window.Span{From: from.UTC(), To: to.UTC().Add(spec.Interval.Std() + Week)}
	in.Open, in.Windowed = window.Common(within, own, lane), true
	return ""
}

// A list of Schedules lacks the buffered runs.
func bufferedOf(ctx context.Context, client *starter.Client, known jobtypes.JobType) (int, error) {
	if overlap := known.Spec.Policy.Overlap; len(known.Running) == 0 && overlap != jobtype.OverlapBufferOne && overlap != jobtype.OverlapBufferAll {
		return 0, nil
	}
	exact, err := jobtypes.Of(client).Get(ctx, known.Name)
	if errors.Is(err, starter.ErrNotFound) {
		return 0, nil
	}
	return int(exact.Counts.Buffered), err
}

// A run without an answer counts as begun. The notes name approvals that runs wait for.
func runningOf(ctx context.Context, client *starter.Client, known jobtypes.JobType) (open []forecast.Running, notes []string) {
	for _, running := range known.Running {
		snapshot, err := client.Runs().Show(ctx, starter.RunRef{WorkflowID: running.WorkflowID})
		if err != nil || !snapshot.Open() {
			continue
		}
		waits := snapshot.Group != nil && (snapshot.Group.Phase == "waiting" || snapshot.Group.Phase == "preparing")
		run := forecast.Running{WorkflowID: running.WorkflowID, Since: snapshot.Started, Waiting: waits}
		if task := approvalOf(ctx, client, snapshot); task != "" {
			run.Approval, run.OffLane = true, !snapshot.Group.LaneReleasedAt.IsZero()
			notes = append(notes, explain.TextOpenApproval(known.Name, task, snapshot.Deadline))
		}
		open = append(open, run)
	}
	return open, notes
}

// approvalOf returns the first open approval in the DAG of a run, by its path through sub-DAGs.
func approvalOf(ctx context.Context, client *starter.Client, snapshot starter.Snapshot) string {
	if snapshot.Group == nil || snapshot.Group.DAG == "" {
		return ""
	}
	return approvalIn(ctx, client, starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(snapshot.WorkflowID, contract.JobID(1))}, spec.MaxDepth)
}

// mostInside bounds the open sub-DAGs of a DAG in which approvals are searched.
const mostInside = 8

func approvalIn(ctx context.Context, client *starter.Client, ref starter.RunRef, depth int) string {
	if depth == 0 {
		return ""
	}
	below, err := client.Runs().Show(ctx, ref)
	switch {
	case err != nil || below.DAGStatus == nil:
		return ""
	case len(below.DAGStatus.Approvals) > 0:
		return below.DAGStatus.Approvals[0].ID
	}
	inside, err := client.DAGs().Why(ctx, ref, "")
	if err != nil {
		return ""
	}
	for _, task := range inside.SubDAGs[:min(mostInside, len(inside.SubDAGs))] {
		if approval := approvalIn(ctx, client, starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(ref.WorkflowID, task)}, depth-1); approval != "" {
			return task + "/" + approval
		}
	}
	return ""
}

func addConditions(types []forecast.JobType, known []jobtypes.JobType, told []ForecastType) {
	last := map[string]time.Time{}
	for i := range known {
		last[known[i].Name] = told[i].lastSuccess
	}
	for i := range known {
		spec := known[i].Spec
		add := func(c forecast.Condition) {
			c.Text = explain.TextCondition(c.Code, c.Object, c.Within)
			types[i].Conditions = append(types[i].Conditions, c)
		}
		for _, name := range slices.Sorted(maps.Keys(spec.After)) {
			add(forecast.Condition{Code: contract.CodeAfter, Object: name, Within: spec.After[name].SucceededWithin, Last: last[name]})
		}
		if spec.RunIfNotSucceededFor > 0 {
			add(forecast.Condition{Code: contract.CodeNotDue, Within: spec.RunIfNotSucceededFor, Last: last[known[i].Name]})
		}
	}
}
