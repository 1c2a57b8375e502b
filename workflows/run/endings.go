package run

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of the repeated endings, so that they fit into the state for continue-as-new.
const (
	maxRecent         = 4
	maxRecentFailures = 500
	maxRecentKeys     = 10_000
)

// stamp is the time of a report, which identifies it: two reports of one workflow task have different times.
func (l *Link) stamp() time.Time {
	at := workflow.Now(l.ctx)
	if !at.After(l.stamped) {
		at = l.stamped.Add(time.Nanosecond)
	}
	l.stamped = at
	return at
}

// Report adds endings to the next request.
func (l *Link) Report(endings contract.AdmissionEndings) {
	endings.At = l.stamp()
	l.add(endings)
}

func (l *Link) add(endings contract.AdmissionEndings) {
	l.next.Endings, l.dirty = append(l.next.Endings, endings), true
	if again := l.counted(endings); len(again.Done)+len(again.Failed)+len(again.Tasks) > 0 || !again.SuccessAt.IsZero() {
		l.remember(again)
	}
}

// counted omits what counts against no budget. A new admission holds none of the keys that became free.
func (l *Link) counted(endings contract.AdmissionEndings) contract.AdmissionEndings {
	if l.base.Budget == nil {
		return contract.AdmissionEndings{At: endings.At, Tasks: endings.Tasks}
	}
	endings.Settled = nil
	return endings
}

// ReportTasks adds the ends of tasks to the next request, as one report identified by its time.
func (l *Link) ReportTasks(tasks []contract.TaskEnding) {
	if len(tasks) == 0 {
		return
	}
	if n := len(l.next.Endings); n > 0 && l.next.Endings[n-1].At.Equal(l.open) {
		l.next.Endings[n-1].Tasks = append(l.next.Endings[n-1].Tasks, tasks...)
		if k := len(l.recent); k > 0 && l.recent[k-1].At.Equal(l.open) {
			l.recent[k-1].Tasks = l.next.Endings[n-1].Tasks
		}
		return
	}
	l.open = l.stamp()
	l.add(contract.AdmissionEndings{At: l.open, Tasks: tasks})
}

// An ending that a terminated admission had received but not applied exists nowhere else.
func (l *Link) remember(endings contract.AdmissionEndings) {
	l.recent = append(l.recent, endings)
	failures, keys, from := 0, 0, len(l.recent)
	for i, e := range slices.Backward(l.recent) {
		failures, keys = failures+len(e.Failed)+len(e.Tasks), keys+(len(e.Done)+len(e.Settled))/8
		if len(l.recent)-i > maxRecent || failures > maxRecentFailures || keys > maxRecentKeys {
			break
		}
		from = i
	}
	l.recent = slices.Clone(l.recent[from:])
}

// once joins lists of endings without duplicates. The last one counts: a remembered report is shorter than the unsent one.
func once(lists ...[]contract.AdmissionEndings) []contract.AdmissionEndings {
	var all []contract.AdmissionEndings
	for _, list := range lists {
		for _, e := range list {
			if i := slices.IndexFunc(all, func(known contract.AdmissionEndings) bool { return known.At.Equal(e.At) }); i >= 0 {
				all[i] = e
			} else {
				all = append(all, e)
			}
		}
	}
	return all
}

// lastEndings omits the parts of the last endings that follow from the release of everything.
func (l *Link) lastEndings(last []contract.AdmissionEndings) []contract.AdmissionEndings {
	var short []contract.AdmissionEndings
	for _, endings := range last {
		endings = l.counted(endings)
		if len(endings.Done)+len(endings.Failed)+len(endings.Tasks) > 0 || !endings.SuccessAt.IsZero() {
			short = append(short, endings)
		}
	}
	return short
}

func hasFailures(request contract.AdmissionRequest) bool {
	return slices.ContainsFunc(request.Endings, func(e contract.AdmissionEndings) bool {
		return len(e.Failed)+len(e.Tasks) > 0
	})
}
