package contract

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// WindowsActivity turns calendars into spans of time. It takes a WindowsInput,
// answers a WindowsResult and runs in the control plane: workflows must not know
// the time zone database.
const WindowsActivity = "roundsman.Windows"

// SignalSetCalendar takes a SetCalendarInput: it replaces the windows and
// blackouts of a running group. `apply` sends it.
const SignalSetCalendar = "set-calendar"

// WindowsInput asks when calendars are open from At on. The answer depends on
// nothing else but the time zone database.
type WindowsInput struct {
	At time.Time `json:"at"`
	// JobType and Lane name the calendars for people.
	JobType      string            `json:"job_type"`
	Lane         string            `json:"lane,omitempty"`
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
}

// MaxWindows is how many spans an answer has at most.
const MaxWindows = 4

// WindowsResult is the answer to WindowsInput.
type WindowsResult struct {
	// Open are the next spans in which both calendars are open, at most
	// [MaxWindows]. The first one has begun if it begins at the asked time; none
	// means that no window opens within 400 days.
	Open []WindowSpan `json:"open,omitempty"`
	// Closed says for people why it is closed now; empty: it is open.
	Closed string `json:"closed,omitempty"`
	// Longest is how long the longest span of the next weeks is; 0 if one does
	// not end.
	Longest jobtype.Duration `json:"longest,omitempty"`
}

// Closure says why a calendar is closed. The zero one is that of an open calendar.
type Closure struct {
	Code ClosureCode `json:"code,omitempty"`
	// Note is what is written at the blackout.
	Note string `json:"note,omitempty"`
}

// ClosureCode is the kind of a [Closure].
type ClosureCode string

// The kinds of closures; an open calendar has none.
const (
	ClosedOutside  ClosureCode = "OUTSIDE_WINDOWS"
	ClosedBlackout ClosureCode = "BLACKOUT"
)

// WindowSpan is the time from From on and before To. A zero To says that it
// does not end within 400 days.
type WindowSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// SetCalendarInput replaces both calendars; nil ones are always open.
type SetCalendarInput struct {
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
	By           string            `json:"by,omitempty"`
}

// KeptCheckpoint is the checkpoint of a job that was stopped by the end of its
// window. The next job with the key continues from it.
type KeptCheckpoint struct {
	Key        string          `json:"key"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	// Done is how much of the job it stands for, in percent; 0: unknown.
	Done float64 `json:"done,omitempty"`
	// At is when the job was stopped; after 30 days the checkpoint is dropped.
	At time.Time `json:"at"`
}

// DroppedCheckpoints are those that the run record has no room for: how many,
// and the first keys. A job without a dedupe key is only counted.
type DroppedCheckpoints struct {
	Count int      `json:"count"`
	Keys  []string `json:"keys,omitempty"`
}

// IgnoresWindow reports whether the group of that workflow id was asked to run
// whatever its windows say.
func (in JobGroupInput) IgnoresWindow(workflowID string) bool {
	if in.Submission != nil {
		return in.Submission.IgnoreWindow
	}
	return in.IgnoreWindow != "" && in.IgnoreWindow == workflowID
}

// GroupWindow is the window that a group runs in.
type GroupWindow struct {
	// Closes is when nothing starts any more, zero if that is not to be expected;
	// Next is when the next window opens.
	Closes time.Time `json:"closes,omitzero"`
	Next   time.Time `json:"next,omitzero"`
	// Learned is how long a job without an estimate is taken to run, known from
	// LearnedOf runs.
	Learned   jobtype.Duration `json:"learned,omitempty"`
	LearnedOf int              `json:"learned_of,omitempty"`
}
