package calendar

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Night shows the runs of the last hours and the runs that the next hours bring.
type Night struct {
	AsOf  time.Time `json:"as_of"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Rows have the job types with runs, open and failed ones first.
	Rows []NightRow `json:"rows"`
	// Quiet sums up the job types without a row.
	Quiet NightQuiet `json:"quiet"`
	// Incomplete means that there are more runs than were read: the oldest are missing.
	Incomplete bool `json:"incomplete,omitempty"`
}

// NightRow is one job type.
type NightRow struct {
	JobType string     `json:"job_type"`
	Bars    []NightBar `json:"bars"`
	// LeftOut counts the bars that the limit left out, those farthest from now.
	LeftOut int `json:"left_out,omitempty"`

	// Known before bars are left out.
	gravity int
	counts  NightQuiet
}

// NightQuiet counts the runs and ticks outside the rows.
type NightQuiet struct {
	JobTypes int `json:"job_types"`
	Runs     int `json:"runs"`
	Due      int `json:"due"`
	Skipped  int `json:"skipped"`
}

// The kinds of bars.
const (
	// NightRun is a run that began. NightRest lasts from now to its expected end.
	NightRun  = "run"
	NightRest = "rest"
	// NightPlan is a run to come, NightSkip an instant that will be skipped.
	NightPlan = "plan"
	NightSkip = "skip"
	// NightClosed is a time outside the maintenance windows.
	NightClosed = "closed"
)

// NightBar is a time in which something ran, will run or cannot run.
type NightBar struct {
	Kind  string       `json:"kind" enum:"run,rest,plan,skip,closed"`
	From  time.Time    `json:"from"`
	Until time.Time    `json:"until,omitzero"`
	State string       `json:"state,omitempty"`
	Role  explain.Role `json:"role,omitempty"`
	// Run is the workflow id of a run that began.
	Run string `json:"run,omitempty"`
	// Code and Object are the reason why a run to come is skipped or begins late.
	Code   contract.Code `json:"code,omitempty"`
	Object string        `json:"object,omitempty"`
}

const (
	// maxNightRuns bounds the ended runs that are read, maxNightOpen the open ones, each of which is queried.
	maxNightRuns = 5000
	maxNightOpen = 200
	// maxNightBars bounds the bars of one job type.
	maxNightBars = 400
)

// Night reads the runs that ended since from or are open, and the forecast until then.
func (m *Memory) Night(ctx context.Context, client *starter.Client, now, from, until time.Time) (Night, error) {
	ahead, err := m.Forecast(ctx, client, (until.Sub(now) + time.Hour - 1).Truncate(time.Hour)) // The same for all callers.
	if err != nil {
		return Night{}, err
	}
	runs, err := client.Runs().List(ctx, starter.RunFilter{Kind: starter.KindGroup, EndedSince: from, Limit: maxNightRuns + 1})
	if err != nil {
		return Night{}, err
	}
	open, err := client.Runs().List(ctx, starter.RunFilter{Kind: starter.KindGroup, Running: true, Limit: maxNightOpen + 1, Counts: true})
	if err != nil {
		return Night{}, err
	}
	night := nightOf(now, from, until, append(open[:min(len(open), maxNightOpen)], runs[:min(len(runs), maxNightRuns)]...), ahead)
	night.Incomplete = len(runs) > maxNightRuns || len(open) > maxNightOpen
	return night, nil
}

func nightOf(now, from, until time.Time, runs []starter.Run, ahead Forecast) Night {
	night := Night{AsOf: now, From: from, Until: until, Rows: []NightRow{}}
	rows := map[string]*NightRow{}
	row := func(name string) *NightRow {
		if rows[name] == nil {
			rows[name] = &NightRow{JobType: name}
		}
		return rows[name]
	}
	seen := map[string]bool{}
	for _, run := range runs {
		if seen[run.WorkflowID] || !run.Open() && run.Ended.Before(from) {
			continue
		}
		seen[run.WorkflowID] = true
		if run.Standing.State == "" {
			run = run.WithStanding()
		}
		to := row(run.JobType)
		to.Bars = append(to.Bars, NightBar{Kind: NightRun, From: run.Started, Until: run.Ended, State: run.Standing.State, Role: run.Standing.Role, Run: run.WorkflowID})
		if rest, is := restOf(run, ahead, now); is {
			to.Bars = append(to.Bars, rest)
		}
	}
	for _, tick := range ahead.Ticks {
		if bar := planned(tick); bar.From.Before(until) {
			row(tick.JobType).Bars = append(row(tick.JobType).Bars, bar)
		}
	}
	for _, known := range ahead.known {
		if to := rows[known.Name]; to != nil {
			to.Bars = append(closedOf(known, from, until), to.Bars...)
		}
	}
	for _, to := range rows {
		to.gravity, to.counts = to.grave(), to.count()
		to.shorten(now)
		night.Rows = append(night.Rows, *to)
	}
	slices.SortFunc(night.Rows, func(a, b NightRow) int {
		return cmp.Or(cmp.Compare(b.gravity, a.gravity), cmp.Compare(a.JobType, b.JobType))
	})
	return night
}

func restOf(run starter.Run, ahead Forecast, now time.Time) (NightBar, bool) {
	if !run.Open() {
		return NightBar{}, false
	}
	at := slices.IndexFunc(ahead.Types, func(t ForecastType) bool { return t.JobType == run.JobType })
	if at < 0 || ahead.Types[at].Of == 0 {
		return NightBar{}, false
	}
	ends := run.Started.Add(ahead.Types[at].Typical.Std())
	return NightBar{Kind: NightRest, From: run.Started, Until: ends, Run: run.WorkflowID}, ends.After(now)
}

func planned(tick ForecastTick) NightBar {
	bar := NightBar{Kind: NightPlan, From: cmp.Or(tick.Begins, tick.At), Until: tick.Ends, State: string(tick.State), Code: tick.Code, Object: tick.Object}
	if tick.State != contract.TickRuns {
		bar.Kind, bar.From, bar.Until = NightSkip, tick.At, time.Time{}
	}
	return bar
}

func closedOf(known jobtypes.JobType, from, until time.Time) []NightBar {
	if known.Spec.Calendar.Empty() && known.Spec.LaneCalendar.Empty() {
		return nil
	}
	own, err := window.New(known.Spec.Calendar, time.LoadLocation)
	if err != nil {
		return nil
	}
	lane, err := window.New(known.Spec.LaneCalendar, time.LoadLocation)
	if err != nil {
		return nil
	}
	var closed []NightBar
	at := from
	for _, open := range window.Common(window.Span{From: from.UTC(), To: until.UTC()}, own, lane) {
		if open.From.After(at) {
			closed = append(closed, NightBar{Kind: NightClosed, From: at, Until: open.From})
		}
		if at = open.To; at.IsZero() {
			return closed
		}
	}
	if at.Before(until) {
		closed = append(closed, NightBar{Kind: NightClosed, From: at, Until: until})
	}
	return closed
}

// grave is larger for a row that an operator looks at first: a failed run, then an open one.
func (r *NightRow) grave() (grave int) {
	for _, bar := range r.Bars {
		switch {
		case bar.Kind != NightRun:
		case bar.Role == explain.RoleFailed || bar.Role == explain.RoleTimeout || bar.Role == explain.RolePartial || bar.Role == explain.RolePerson:
			return 2
		case bar.Until.IsZero():
			grave = 1
		}
	}
	return grave
}

// An open run is at no distance.
func (r *NightRow) shorten(now time.Time) {
	if r.LeftOut = max(0, len(r.Bars)-maxNightBars); r.LeftOut > 0 {
		slices.SortStableFunc(r.Bars, func(a, b NightBar) int { return cmp.Compare(a.distance(now), b.distance(now)) })
		r.Bars = r.Bars[:maxNightBars]
	}
	slices.SortStableFunc(r.Bars, func(a, b NightBar) int { return a.From.Compare(b.From) })
}

func (b NightBar) distance(now time.Time) time.Duration {
	ends := b.Until
	if ends.IsZero() && b.Kind != NightRun {
		ends = b.From
	}
	if !ends.IsZero() && ends.Before(now) {
		return now.Sub(ends)
	}
	return max(0, b.From.Sub(now))
}

func (r *NightRow) count() (counts NightQuiet) {
	for _, bar := range r.Bars {
		switch bar.Kind {
		case NightRun:
			counts.Runs++
		case NightPlan:
			counts.Due++
		case NightSkip:
			counts.Skipped++
		}
	}
	return counts
}

// Cut keeps the rows of the job types that sees allows, at most that many, and sums up the others.
func (n *Night) Cut(most int, sees func(name string) bool) {
	n.Rows = slices.DeleteFunc(n.Rows, func(r NightRow) bool { return !sees(r.JobType) })
	for _, left := range n.Rows[min(most, len(n.Rows)):] {
		n.Quiet.JobTypes++
		n.Quiet.Runs += left.counts.Runs
		n.Quiet.Due += left.counts.Due
		n.Quiet.Skipped += left.counts.Skipped
	}
	n.Rows = n.Rows[:min(most, len(n.Rows))]
}
