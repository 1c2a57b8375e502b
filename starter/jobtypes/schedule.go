package jobtypes

import (
	"cmp"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const (
	// Memo of Schedules created by `apply`. Roundsman never changes or deletes others.
	ownerKey   = "managed_by"
	ownerValue = "roundsman"

	// Pause note for `enabled: false`. Any other note means a person's pause, which `apply` keeps.
	disabledNote = "disabled in the configuration (enabled: false)"

	// maxSummary fits into the server's 400 bytes for an encoded summary.
	maxSummary = 200
)

type schedules struct {
	client    *starter.Client
	converter converter.DataConverter
	patience  *patience
}

func (c Client) schedules() schedules {
	return schedules{client: c.client, converter: starter.DataConverter()}
}

// patiently is schedules for a plan or an apply.
func (c Client) patiently() schedules {
	s := c.schedules()
	s.patience = newPatience()
	return s
}

// The same spec gives the same Schedule, so `plan` can compare.
func (s schedules) build(spec contract.JobTypeSpec) (*schedulepb.Schedule, error) {
	times, err := scheduleSpec(spec.Schedule)
	if err != nil {
		return nil, fmt.Errorf("job type %s: %w", spec.Name, err)
	}
	action, err := s.action(spec)
	if err != nil {
		return nil, fmt.Errorf("job type %s: %w", spec.Name, err)
	}
	overlap, err := overlapPolicy(spec.Policy.Overlap)
	if err != nil {
		return nil, fmt.Errorf("job type %s: %w", spec.Name, err)
	}
	return &schedulepb.Schedule{
		Spec:   times,
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: action}},
		Policies: &schedulepb.SchedulePolicies{
			OverlapPolicy: overlap,
			CatchupWindow: durationpb.New(spec.Policy.CatchupWindow.Std()),
		},
		State: &schedulepb.ScheduleState{},
	}, nil
}

// completed adds the server's defaults: without them a Schedule would differ from its spec.
func completed(spec contract.JobTypeSpec) contract.JobTypeSpec {
	interval := cmp.Or(spec.Interval, spec.Schedule.Every)
	if interval == 0 { // Not an argument above: it looks at each day of five years.
		interval = gapOf(spec.Schedule.Cron)
	}
	spec.Policy = spec.Policy.WithCatchupWindow(interval)
	return spec
}

func (s schedules) action(spec contract.JobTypeSpec) (*workflowpb.NewWorkflowExecutionInfo, error) {
	input, err := s.converter.ToPayloads(contract.JobGroupInput{Spec: spec})
	if err != nil {
		return nil, fmt.Errorf("encode the group's input: %w", err)
	}
	summary, err := s.converter.ToPayload(summaryOf(spec))
	if err != nil {
		return nil, fmt.Errorf("encode the summary: %w", err)
	}
	details, err := s.converter.ToPayload(detailsOf(spec))
	if err != nil {
		return nil, fmt.Errorf("encode the details: %w", err)
	}
	return &workflowpb.NewWorkflowExecutionInfo{
		WorkflowId:       contract.GroupWorkflowID(spec.Name),
		WorkflowType:     &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		TaskQueue:        &taskqueuepb.TaskQueue{Name: contract.ControlQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		Input:            input,
		SearchAttributes: rpc.KeywordAttribute(contract.SearchAttributeJobType, spec.Name),
		UserMetadata:     &sdkpb.UserMetadata{Summary: summary, Details: details},
	}, nil
}

func summaryOf(spec contract.JobTypeSpec) string {
	text, _, _ := strings.Cut(strings.TrimSpace(spec.Description), "\n")
	if text == "" {
		text = fmt.Sprintf("%s (%s)", spec.Name, executorText(spec, "handler "+spec.Handler))
	}
	return jobtype.Clip(text, maxSummary)
}

func detailsOf(spec contract.JobTypeSpec) string {
	var text strings.Builder
	if spec.Description != "" {
		text.WriteString(jobtype.Clip(spec.Description, 4000) + "\n\n")
	}
	fmt.Fprintf(&text, "Job type `%s`, %s, %s", spec.Name, executorText(spec, "handler `"+spec.Handler+"`"), jobtype.Clip(scheduleText(spec.Schedule), 2000))
	if spec.Lane != "" {
		fmt.Fprintf(&text, ", lane `%s`", spec.Lane)
	}
	for _, line := range calendarLines(spec) {
		text.WriteString("\n- " + jobtype.Clip(line, 2000))
	}
	fmt.Fprintf(&text, "\n\nManaged by `roundsman apply`: `roundsman show %s`", spec.Name)
	return text.String()
}

func executorText(spec contract.JobTypeSpec, handler string) string {
	if spec.DAG != nil {
		return spec.String()
	}
	return handler
}

func overlapPolicy(overlap jobtype.Overlap) (enumspb.ScheduleOverlapPolicy, error) {
	switch overlap {
	case jobtype.OverlapSkip, "":
		return enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, nil
	case jobtype.OverlapBufferOne:
		return enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE, nil
	case jobtype.OverlapBufferAll:
		return enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL, nil
	case jobtype.OverlapCancelOther:
		return enumspb.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER, nil
	case jobtype.OverlapTerminateOther:
		return enumspb.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER, nil
	}
	return 0, fmt.Errorf("policy.overlap %q is not supported: use skip, buffer_one, buffer_all, cancel_other or terminate_other", overlap)
}

func (s schedules) owned(memo *commonpb.Memo) bool {
	payload, found := memo.GetFields()[ownerKey]
	if !found {
		return false
	}
	owner := ""
	return s.converter.FromPayload(payload, &owner) == nil && owner == ownerValue
}

func (s schedules) memo(spec contract.JobTypeSpec) (*commonpb.Memo, error) {
	fields := map[string]*commonpb.Payload{}
	for key, value := range map[string]any{ownerKey: ownerValue, specKey: spec} {
		payload, err := s.converter.ToPayload(value)
		if err != nil {
			return nil, fmt.Errorf("encode the memo of job type %s: %w", spec.Name, err)
		}
		fields[key] = payload
	}
	return &commonpb.Memo{Fields: fields}, nil
}

func (s schedules) storedSpec(schedule *schedulepb.Schedule) (contract.JobTypeSpec, error) {
	input, err := s.storedInput(schedule)
	return input.Spec, err
}
