package ref

import (
	"regexp"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

var (
	wholeTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?Z`)
	shortTime = regexp.MustCompile(`^(\d{4})T(\d{4})(\d{2})?Z?$`)
	tickTime  = regexp.MustCompile(`-(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)$`)
)

// The layouts of the short time. A run's own time has seconds only if they are not 00.
const (
	toMinute = "0102T1504Z"
	toSecond = "0102T150405Z"
)

// Stamp is the short UTC time in a reference.
func Stamp(at time.Time) string {
	if at = at.UTC(); at.Second() == 0 {
		return at.Format(toMinute)
	}
	return at.Format(toSecond)
}

// Timed reports whether the id of a run has the form of a time, whole or short.
func Timed(id string) bool { return wholeTime.MatchString(id) || shortTime.MatchString(id) }

// Reserved reports whether a run cannot be called id, since id means something else.
func Reserved(id string) bool { return id == "" || id == Open || id == Last || id == Bad || Timed(id) }

// Times are the instants that the id of a run can mean, newest first. The short form has no year.
func Times(id string, now time.Time) []time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z"} {
		if at, err := time.Parse(layout, id); err == nil {
			return []time.Time{at.UTC()}
		}
	}
	if !shortTime.MatchString(id) {
		return nil
	}
	layout := toMinute
	if len(strings.TrimSuffix(id, "Z")) == len("0102T150405") {
		layout = toSecond
	}
	var found []time.Time
	for year := now.UTC().Year() + 1; year >= now.UTC().Year()-1; year-- {
		at, err := time.Parse("2006"+layout, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006")+strings.TrimSuffix(id, "Z")+"Z")
		if err == nil && !at.After(now.Add(time.Hour)) {
			found = append(found, at)
		}
	}
	return found
}

// OfRun writes the reference of a run: NAME@ID for a run whose name its id has, else the id.
func OfRun(workflowID string) string {
	if name, submission, adHoc := contract.AdHocOf(workflowID); adHoc && !Reserved(submission) && !strings.ContainsAny(submission, "/:@") {
		return name + "@" + submission
	}
	if name, id, ok := contract.DAGOfWorkflow(workflowID); ok && !strings.Contains(id, "/") && !Reserved(id) && !strings.ContainsAny(id, ":@") {
		return name + "@" + id
	}
	group, is := strings.CutPrefix(workflowID, groupPrefix)
	if at := tickTime.FindStringSubmatchIndex(group); is && at != nil && !strings.Contains(group, "/") {
		if name := group[:at[0]]; contract.ValidateJobTypeName(name) == nil {
			if tick, err := time.Parse(time.RFC3339, group[at[2]:at[3]]); err == nil {
				return name + "@" + Stamp(tick)
			}
		}
	}
	return workflowID
}
