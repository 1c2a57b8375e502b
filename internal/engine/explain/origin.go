package explain

import (
	"cmp"

	"github.com/roundsman/roundsman/contract"
)

// TextOrigin is what started a run, with the person and the client of the request.
func TextOrigin(origin contract.Origin, actor, via string) string {
	who := actor
	if who != "" && via != "" {
		who += " (" + via + ")"
	}
	text := "not known"
	switch origin {
	case contract.OriginSchedule:
		text = "its schedule"
	case contract.OriginOperator:
		return cmp.Or(who, "an operator")
	case contract.OriginBackfill:
		text = "a backfill"
	case contract.OriginApply:
		text = "its first apply"
	case contract.OriginSubmission:
		text = "a submission"
	case contract.OriginRetry:
		text = "a retry"
	case contract.OriginUnknown:
	}
	if who == "" {
		return text
	}
	return text + " by " + who
}
