package contract

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// WindowsActivity takes a WindowsInput and returns a WindowsResult. Workflows must not read the time zone database.
const WindowsActivity = "roundsman.Windows"

// SignalSetCalendar takes a SetCalendarInput for a running group, from `apply`.
const SignalSetCalendar = "set-calendar"

// WindowsInput requests the open spans of calendars from At on.
type WindowsInput struct {
	At time.Time `json:"at"`
	// JobType and Lane name the calendars in messages.
	JobType      string            `json:"job_type"`
	Lane         string            `json:"lane,omitempty"`
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
}

// MaxWindows is the maximum number of spans in a result.
const MaxWindows = 4

// WindowsResult is the result of [WindowsActivity].
type WindowsResult struct {
	// Next spans in which both calendars are open, at most [MaxWindows]. Empty: no window opens within 400 days.
	Open []WindowSpan `json:"open,omitempty"`
	// Closed is the reason for operators why it is closed now; empty if open.
	Closed string `json:"closed,omitempty"`
	// Longest is the longest span of the next weeks; 0 if a span does not end.
	Longest jobtype.Duration `json:"longest,omitempty"`
}

// Closure is the reason why a calendar is closed; zero if it is open.
type Closure struct {
	Code ClosureCode `json:"code,omitempty"`
	Note string      `json:"note,omitempty"`
}

// ClosureCode is the kind of a [Closure].
type ClosureCode string

// Kinds of closures; an open calendar has none.
const (
	ClosedOutside  ClosureCode = "OUTSIDE_WINDOWS"
	ClosedBlackout ClosureCode = "BLACKOUT"
)

// WindowSpan is a time from From to before To. A zero To means no end within 400 days.
type WindowSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// SetCalendarInput replaces both calendars; nil means always open.
type SetCalendarInput struct {
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
	By           string            `json:"by,omitempty"`
	// IgnoreWindow releases a group that waits for its window; the calendars stay as they are.
	IgnoreWindow bool `json:"ignore_window,omitempty"`
}

// KeptCheckpoint is the checkpoint of a job stopped by the end of its window, for the next job with the key.
type KeptCheckpoint struct {
	Key        string          `json:"key"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	// Done is the progress at the checkpoint in percent; 0 if unknown.
	Done float64 `json:"done,omitempty"`
	// At is the time of the stop. The checkpoint is dropped after 30 days.
	At time.Time `json:"at"`
}

// DroppedCheckpoints counts checkpoints without room in the run record and lists their first keys.
type DroppedCheckpoints struct {
	Count int      `json:"count"`
	Keys  []string `json:"keys,omitempty"`
}

// IgnoresWindow reports whether the group of that workflow id runs in spite of its windows.
func (in JobGroupInput) IgnoresWindow(workflowID string) bool {
	if in.Submission != nil {
		return in.Submission.IgnoreWindow
	}
	return in.IgnoreWindow != "" && in.IgnoreWindow == workflowID
}

// IgnoringWindow returns the input of a group of that workflow id that was released from its windows.
func (in JobGroupInput) IgnoringWindow(workflowID string) JobGroupInput {
	if in.Submission == nil {
		in.IgnoreWindow = workflowID
		return in
	}
	released := *in.Submission
	released.IgnoreWindow = true
	in.Submission = &released
	return in
}

// GroupWindow is the window of a running group.
type GroupWindow struct {
	// Time after which nothing starts, zero if not foreseeable, and the opening of the next window.
	Closes time.Time `json:"closes,omitzero"`
	Next   time.Time `json:"next,omitzero"`
	// Learned is the expected duration of a job without an estimate, learned from LearnedOf attempts.
	Learned   jobtype.Duration `json:"learned,omitempty"`
	LearnedOf int              `json:"learned_of,omitempty"`
}
