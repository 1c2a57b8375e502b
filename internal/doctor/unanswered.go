package doctor

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// answerTimeout bounds each request of a check. The server itself repeats a write for seconds.
const answerTimeout = 15 * time.Second

// unknown is the finding of a failed request, with the remedy if the server did not answer.
func (c *Check) unknown(verdict Verdict, text string, err error) {
	c.Verdict, c.Found = verdict, text+why(err)
	if isSilent(err) {
		c.Help(hinted("look at the load, the disk and the log of the server and its database, then run doctor again"))
	}
}

// why returns the cause in words for operators. Texts of Go and gRPC do not help them.
func why(err error) string {
	switch {
	case isSilent(err):
		return "the server took the request and did not answer in time"
	case rpc.Code(err) == codes.Unavailable:
		return (&starter.UnreachableError{Cause: err}).Why()
	}
	return err.Error()
}

// isSilent reports whether the server itself did not answer, and not one of its workflows.
func isSilent(err error) bool {
	return rpc.Code(err) == codes.DeadlineExceeded && !starter.Unanswered(err)
}
