package jobtypes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// specKey is the memo of a Schedule with its job type's spec, for lists. A server cannot change it, so the search
// attribute [specDigest] shows whether it is current (docs/adr/0052).
const specKey = "spec"

func specDigest(spec contract.JobTypeSpec) (string, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode job type %s: %w", spec.Name, err)
	}
	return fmt.Sprintf("%s@%x", spec.Name, sha256.Sum256(encoded))[:len(spec.Name)+1+16], nil
}

func (s schedules) digestOf(schedule *schedulepb.Schedule) (*commonpb.SearchAttributes, contract.JobTypeSpec, error) {
	spec, err := s.storedSpec(schedule)
	if err != nil {
		return nil, spec, err
	}
	digest, err := specDigest(spec)
	return rpc.KeywordAttribute(contract.SearchAttributeJobType, digest), spec, err
}

func (s schedules) entries(ctx context.Context) ([]*schedulepb.ScheduleListEntry, error) {
	var entries []*schedulepb.ScheduleListEntry
	request := &workflowservice.ListSchedulesRequest{Namespace: s.client.Namespace(), MaximumPageSize: schedulePage}
	for {
		var response *workflowservice.ListSchedulesResponse
		err := s.retry(ctx, func(ctx context.Context) error {
			var callErr error
			response, callErr = s.client.Temporal().WorkflowService().ListSchedules(ctx, request)
			return callErr
		})
		if err != nil {
			return nil, fmt.Errorf("list Schedules: %w", err)
		}
		for _, entry := range response.GetSchedules() {
			_, ours := contract.JobTypeOfSchedule(entry.GetScheduleId())
			if ours && entry.GetInfo().GetWorkflowType().GetName() == contract.JobGroupWorkflow && s.owned(entry.GetMemo()) {
				entries = append(entries, entry)
			}
		}
		if request.NextPageToken = response.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
			slices.SortFunc(entries, func(a, b *schedulepb.ScheduleListEntry) int {
				return strings.Compare(a.GetScheduleId(), b.GetScheduleId())
			})
			return entries, nil
		}
	}
}

// listed returns false if the Schedule itself must be read: the spec has changed, or a pause needs more data.
func (s schedules) listed(entry *schedulepb.ScheduleListEntry) (*JobType, bool) {
	var spec contract.JobTypeSpec
	payload := entry.GetMemo().GetFields()[specKey]
	if payload == nil || s.converter.FromPayload(payload, &spec) != nil {
		return nil, false
	}
	digest, err := specDigest(spec)
	if err != nil || digest != rpc.Keyword(entry.GetSearchAttributes(), contract.SearchAttributeJobType) {
		return nil, false
	}
	info := entry.GetInfo()
	read := &JobType{
		Name: spec.Name, Spec: spec, Times: shortTimes(info.GetSpec()),
		Paused: info.GetPaused(), DisabledByConfig: info.GetPaused() && info.GetNotes() == disabledNote,
		Recent: scheduledRuns(info.GetRecentActions()), Window: WindowAt(spec, time.Now()),
	}
	for _, action := range info.GetRecentActions() {
		if action.GetStartWorkflowStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			read.Running = append(read.Running, starter.RefsOf([]*commonpb.WorkflowExecution{action.GetStartWorkflowResult()})...)
		}
	}
	if !read.Paused {
		for _, next := range info.GetFutureActionTimes() {
			read.Next = append(read.Next, next.AsTime())
		}
		return read, true
	}
	read.PauseNote, read.PausedBy, read.PausedAt = readPause(info.GetNotes())
	return read, read.DisabledByConfig || read.PausedBy != "" || !read.PausedAt.IsZero()
}
