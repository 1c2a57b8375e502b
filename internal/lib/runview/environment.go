package runview

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Environment returns the variables of a program about its run and its worker. Invalid characters of a label become _.
func Environment(run jobtype.RunInfo, labels map[string]string) []string {
	var env []string
	for name, at := range map[string]time.Time{"ROUNDSMAN_SCHEDULED_AT": run.ScheduledAt, "ROUNDSMAN_RUN_STARTED_AT": run.StartedAt} {
		if !at.IsZero() {
			env = append(env, name+"="+at.UTC().Format(time.RFC3339))
		}
	}
	slices.Sort(env)
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		name := strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
				return r
			}
			return '_'
		}, strings.ToUpper(label))
		env = append(env, "ROUNDSMAN_WORKER_LABEL_"+name+"="+strings.ReplaceAll(labels[label], "\x00", `\x00`))
	}
	return env
}
