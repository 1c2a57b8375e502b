package doctor

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// checkStorage makes the server write, because a full disk fails no read. Its signal has no effect.
func checkStorage(ctx context.Context, c *starter.Client) Check {
	input, err := starter.DataConverter().ToPayloads(contract.WatchFleetInput{WorkflowID: "doctor"})
	if err != nil {
		return judgeStorage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = c.Temporal().WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: c.Namespace(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: contract.FleetWorkflowID},
		SignalName: contract.SignalUnwatchFleet, Input: input, Identity: c.Identity(),
	})
	return judgeStorage(err)
}

func judgeStorage(err error) Check {
	check := Check{Name: "storage", Verdict: VerdictOK, Found: "the server stores what it is sent"}
	switch rpc.Code(err) {
	case codes.OK:
	case codes.NotFound:
		check.Found = "not tried: there is no registry yet"
	case codes.PermissionDenied, codes.Unauthenticated:
		check.Found = "not tried: this client may not send signals"
	default:
		check.Verdict, check.Found = VerdictFail, "the server stores nothing: "+why(err)
		check.Help(hinted("look at the disk of the server and its database (df -h, df -i), and at its log"))
	}
	return check
}
