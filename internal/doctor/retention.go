package doctor

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/retention"
	"github.com/roundsman/roundsman/starter"
)

// retentionSlack is how long after its time a run may still exist: two sweeps.
const retentionSlack = 2 * time.Hour

// CheckRetention checks the deletion of old runs. runs is the configured retention.
func CheckRetention(ctx context.Context, c *starter.Client, runs time.Duration, now time.Time) Check {
	check := Check{Name: "retention", Verdict: VerdictOK}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	kept, err := c.Retention(ctx)
	if err != nil {
		check.unknown(VerdictWarn, "unknown: ", err)
		return check
	}
	if kept > 0 && kept <= runs {
		check.Verdict = VerdictWarn
		check.Found = fmt.Sprintf("the setting retention.runs is %s, but the namespace keeps closed runs for %s only", explain.Setting(runs), explain.Setting(kept))
		check.Help(hinted("", do(action.KeepRuns, "namespace", c.Namespace(), "retention", fmt.Sprintf("%dh", int(runs.Hours())+24))))
		return check
	}
	counted, err := c.Temporal().CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: c.Namespace(), Query: retention.Query(now.Add(-runs - retentionSlack)),
	})
	if err != nil {
		check.unknown(VerdictWarn, "how many old runs there are is unknown: ", err)
		return check
	}
	check.Found = fmt.Sprintf("runs are deleted %s after their end; %d older ones are still needed, or not deleted yet", explain.Setting(runs), counted.GetCount())
	return check
}
