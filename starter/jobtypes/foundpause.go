package jobtypes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// A pause made with Temporal's own tools lacks its author and time, which the history of the Schedule's workflow has.
// Some servers have no such workflow.
const (
	scheduleWorkflow = "temporal-sys-scheduler:"
	schedulePatched  = "patch"
	// foundPages of foundPageSize events are read, newest first.
	foundPages    = 4
	foundPageSize = 250
)

type foundPause struct {
	by string
	at time.Time
}

// changed is the time of the last change of the Schedule.
func (s schedules) findPause(ctx context.Context, name, note string, changed time.Time) foundPause {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: s.client.Namespace(), MaximumPageSize: foundPageSize,
		Execution: &commonpb.WorkflowExecution{WorkflowId: scheduleWorkflow + contract.ScheduleID(name)},
	}
	for range foundPages {
		page, err := s.client.Temporal().WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if rpc.Code(err) == codes.NotFound {
			return foundPause{at: changed}
		}
		if err != nil {
			return foundPause{} // It is not worth a second request.
		}
		for _, event := range page.GetHistory().GetEvents() {
			if found, over := pauseIn(event, note); over {
				return found
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	return foundPause{}
}

// over means that older events cannot be the pause. If the last pause has another note, the whole Schedule was replaced.
func pauseIn(event *historypb.HistoryEvent, note string) (found foundPause, over bool) {
	signal := event.GetWorkflowExecutionSignaledEventAttributes()
	if signal.GetSignalName() != schedulePatched {
		return foundPause{}, false
	}
	var patch schedulepb.SchedulePatch
	if err := converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &patch); err != nil {
		return foundPause{}, true
	}
	switch {
	case patch.GetPause() != "" && patch.GetPause() == note:
		return foundPause{by: signal.GetIdentity(), at: rpc.Time(event.GetEventTime())}, true
	case patch.GetPause() != "" || patch.GetUnpause() != "":
		return foundPause{}, true
	}
	return foundPause{}, false
}

func (f foundPause) who() (actor, from string) {
	actor, from = auditlog.ParseIdentity(f.by)
	return cmp.Or(actor, "unknown"), cmp.Or(from, "Temporal's own tools")
}

func (f foundPause) shown() string {
	actor, from := auditlog.ParseIdentity(f.by)
	return cmp.Or(actor, from)
}

// recordFoundPauses records each found pause once.
func (c Client) recordFoundPauses(ctx context.Context, changes []Change) {
	var entries []contract.AuditEntry
	for _, change := range changes {
		note, paused := strings.CutPrefix(change.Note, pausedNote)
		if !paused {
			continue
		}
		if _, by, _ := readPause(note); by != "" {
			continue // This kind of pause was recorded by its author.
		}
		current, found, err := c.schedules().read(ctx, change.JobType)
		if err != nil || !found || !current.schedule.GetState().GetPaused() {
			continue
		}
		changed := rpc.Time(current.info.GetUpdateTime())
		pause := c.schedules().findPause(ctx, change.JobType, note, changed)
		entries = append(entries, foundEntry(change.JobType, note, pause, changed))
	}
	c.client.Audit().Record(ctx, entries...)
}

func foundEntry(name, note string, pause foundPause, changed time.Time) contract.AuditEntry {
	known := pause.at
	if known.IsZero() {
		known = changed
	}
	digest := sha256.Sum256([]byte(note))
	entry := contract.AuditEntry{
		ID:     fmt.Sprintf("found-pause/%s/%d/%s", name, known.UnixMilli(), hex.EncodeToString(digest[:6])),
		Action: "jobtype.pause", JobType: name, Object: contract.ScheduleID(name), Before: "not known", After: pausedNote + note,
		Detail: "found paused by apply; it was not paused through roundsman",
	}
	entry.Actor, entry.From = pause.who()
	if !pause.at.IsZero() {
		entry.Detail += ", since " + pause.at.UTC().Format(time.RFC3339)
	}
	return entry
}
