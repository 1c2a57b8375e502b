package dagrun

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// The sentences of this package. They are data: the record, the audit log and the
// terminal show them as they are.
const (
	textCanceled        = "canceled"
	textCanceledOutside = "canceled from outside: "
	textDoneBut         = "it was done, but "
	textCannotAdd       = "it was done, but the tasks it returned cannot be added: "
	textHeld            = "held after a failure: retry or skip tasks, or release the run"
	textNotBegun        = "the run has not begun"
	textRolls           = "tasks are about to start; the run continues as new first"
	textStarting        = "it is about to start"
	textLane            = "the lane was given back for an approval; it begins when the lane is granted again"
	textPerson          = "it waits for a person"
	textYielded         = "a place: what has them all waits itself"
	textAdmitted        = "a place; it has its resources"
	textNotApproved     = "nobody approved it in time"
)

func textTooLarge(size int) string {
	return fmt.Sprintf("its command and params have %d bytes, the limit is %d: pass a reference instead of the data", size, maxCarried)
}

func textNoItems(of, state string) string {
	return "INVALID: it has no items: " + of + ", which returns them, is " + state + "; rerun " + of + ", or skip this task"
}

func textRunsDAG(jobType string) string {
	return "job type " + jobType + " runs a DAG, and no handler: name its file with dag instead of job_type"
}

func textDeadline(after time.Duration) string {
	return "the deadline of " + after.String() + " is over"
}

func textApproval(timeout fmt.Stringer) string {
	return "nobody approved it within " + timeout.String()
}

// maxMessage bounds what is kept of one failure.
const maxMessage = 512

func clip(message string) string { return jobtype.ClipCause(message, maxMessage) }
