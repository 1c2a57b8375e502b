package doctor

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/starter"
)

const namedStuck = 5

// Visibility lists a stuck workflow after five failures in a row, about a minute after the first.
func checkStuck(ctx context.Context, c *starter.Client) Check {
	check := Check{Name: "workflows", Verdict: VerdictOK, Found: "none is stuck"}
	listed, err := c.Temporal().ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: c.Namespace(), PageSize: namedStuck,
		Query: contract.QueryOpen + ` AND TemporalReportedProblems IN ("category=WorkflowTaskFailed")`,
	})
	if err != nil {
		if _, old := errors.AsType[*serviceerror.InvalidArgument](err); old {
			check.Found = "this server does not list stuck workflows; the log of `roundsman server` has them"
			return check
		}
		check.unknown(VerdictWarn, "whether one is stuck is unknown: ", err)
		return check
	}
	var ids []string
	for _, info := range listed.GetExecutions() {
		ids = append(ids, info.GetExecution().GetWorkflowId())
	}
	if len(ids) > 0 {
		check.Verdict, check.Code, check.Found = VerdictFail, contract.CodeWorkflowStuck, "workflow "+strings.Join(ids, ", ")
		check.Help(hinted("", do(action.Explain, "thing", ids[0], "run", ids[0])))
	}
	return check
}
