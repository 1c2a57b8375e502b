package explain

import (
	"cmp"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// did has the words of actions and of their verbs, each behind its code. A verb without words gets an ending.
const did = " jobtype.set=changed settings; policy.set=changed a limit; dag.set-concurrency=changed a limit; calendar.set=changed windows;" +
	" apply.update=applied settings; apply.drift=applied over a change by hand; apply.restore=put settings back;" +
	" run.ignore_window=let run outside its window; dag.rerun=ran again; run=started; backfill=ran past instants; submit=submitted jobs;" +
	" cancel=canceled; cancel-task=canceled; expire=gave up; retry=retried; skip=skipped; add-tasks=added tasks;" +
	" cleanup=removed dead workers; take-over=took over; forgive=forgave; mark-done=marked as done; reset=reset; refused=was refused;"

// Did is the action of an audit entry in words. The object of the entry follows them.
func Did(e contract.AuditEntry) string {
	if e.Kind == contract.AuditScheduler {
		return e.Action
	}
	_, verb, _ := strings.Cut(e.Action, ".")
	if words := cmp.Or(wordsOf(did, e.Action), wordsOf(did, verb)); words != "" {
		return words
	}
	if strings.HasSuffix(verb, "e") {
		return verb + "d"
	}
	return verb + "ed"
}
