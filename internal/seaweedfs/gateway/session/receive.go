package session

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

const maxID = 256

// full reports whether a message means that the worker has no free slot. Workers do not queue detections, either. Errors
// of the work itself may contain similar words.
func full(message string) bool {
	return strings.Contains(message, "executor is at capacity") || strings.Contains(message, "detector is at capacity")
}

// A worker accepts work a moment before the work can be canceled.
const maxDenied = 2

// stopped is the error of work that the worker itself has stopped: no failure of the work.
const stopped = "context canceled"

// Receive handles one message of the worker.
func (s *Session) Receive(now time.Time, in *pb.WorkerToAdminMessage) {
	if s.phase == closed {
		return
	}
	if !s.messages.take(now) {
		s.close(CodeFlood, fmt.Sprintf("more than %d messages a second", s.settings.Limits.Rate))
		return
	}
	s.seen = now
	hello := in.GetHello()
	switch {
	case s.phase == greeting && hello == nil:
		s.close(CodeNoHello, "the first message must be a hello")
	case s.phase == greeting:
		s.greet(now, hello)
	case in.GetWorkerId() != "" && in.GetWorkerId() != s.profile.ID:
		s.refuse(now, CodeWrongWorker, clip(in.GetWorkerId()))
	case hello != nil:
		s.greetAgain(now, hello)
	default:
		s.dispatch(now, in)
	}
}

func (s *Session) dispatch(now time.Time, in *pb.WorkerToAdminMessage) {
	switch body := in.GetBody().(type) {
	case *pb.WorkerToAdminMessage_Heartbeat:
		s.heartbeat(now, body.Heartbeat)
	case *pb.WorkerToAdminMessage_Acknowledge:
		s.acknowledge(now, body.Acknowledge)
	case *pb.WorkerToAdminMessage_ConfigSchemaResponse:
		s.schema(now, body.ConfigSchemaResponse)
	case *pb.WorkerToAdminMessage_DetectionProposals:
		s.proposals(now, body.DetectionProposals)
	case *pb.WorkerToAdminMessage_DetectionComplete:
		s.detected(now, body.DetectionComplete)
	case *pb.WorkerToAdminMessage_JobProgressUpdate:
		s.progress(now, body.JobProgressUpdate)
	case *pb.WorkerToAdminMessage_JobCompleted:
		s.completed(now, body.JobCompleted)
	case *pb.WorkerToAdminMessage_Observations, *pb.WorkerToAdminMessage_ObjectPreviewResponse:
		// There is no request for them.
	default:
		s.refuse(now, CodeEmpty, "a message without a body, or of a kind that is not known")
	}
}

// A message for a request that has just ended is not the worker's fault.
func (s *Session) find(now time.Time, id, jobType string, kind pb.WorkKind) *request {
	r := s.requests[id]
	switch {
	case r == nil && s.ended.has(id):
	case r == nil:
		s.refuse(now, CodeUnknownRequest, clip(id))
	case r.kind != kind:
		s.refuse(now, CodeWrongKind, clip(id))
	case jobType != "" && jobType != r.jobType:
		s.refuse(now, CodeWrongJob, clip(id)+" is of job type "+r.jobType+", not "+clip(jobType))
	default:
		return r
	}
	return nil
}

func (s *Session) heartbeat(now time.Time, in *pb.WorkerHeartbeat) {
	if len(in.GetRunningWork()) > 2*s.settings.Limits.Requests {
		s.refuse(now, CodeTooLarge, fmt.Sprintf("a heartbeat with %d entries", len(in.GetRunningWork())))
		return
	}
	for _, work := range in.GetRunningWork() {
		id := work.GetWorkId()
		if request, ok := s.jobs[id]; ok {
			id = request
		}
		if s.requests[id] != nil {
			s.events = append(s.events, Alive{Request: id})
		}
	}
	s.resize(int(in.GetDetectionSlotsTotal()), int(in.GetExecutionSlotsTotal()))
}

func (s *Session) resize(detect, execute int) {
	detect, execute = slots(detect, s.profile.Detect), slots(execute, s.profile.Execute)
	if s.phase != ready || detect == s.profile.Detect && execute == s.profile.Execute {
		return
	}
	s.profile.Detect, s.profile.Execute = detect, execute
	s.events = append(s.events, Resized{Detect: detect, Execute: execute})
}

// maxSlots is above the slots of a real worker.
const maxSlots = 512

func slots(told, known int) int {
	if told <= 0 {
		return known
	}
	return min(told, maxSlots)
}

func (s *Session) acknowledge(now time.Time, in *pb.WorkerAcknowledge) {
	id := in.GetRequestId()
	if target, control := s.controls[id]; control {
		delete(s.controls, id)
		if r := s.requests[target]; r != nil && !in.GetAccepted() {
			if r.denied++; r.denied >= maxDenied {
				// Its messages about the request came before this answer.
				s.end(r, Canceled, "the worker does not have it: "+clip(in.GetMessage()), nil)
			}
		}
		return
	}
	r := s.requests[id]
	switch {
	case r == nil && (s.ended.has(id) || strings.HasPrefix(id, "cancel-") || strings.HasPrefix(id, "shutdown-")):
	case r == nil:
		s.refuse(now, CodeUnknownRequest, "acknowledgement of "+clip(id))
	case !in.GetAccepted():
		if full(in.GetMessage()) {
			s.end(r, AtCapacity, clip(in.GetMessage()), nil)
			return
		}
		s.end(r, Rejected, "the worker did not accept it: "+clip(in.GetMessage()), nil)
	default:
		s.events = append(s.events, Alive{Request: r.id})
	}
}

func (s *Session) proposals(now time.Time, in *pb.DetectionProposals) {
	r := s.find(now, in.GetRequestId(), in.GetJobType(), pb.WorkKind_WORK_KIND_DETECTION)
	if r == nil {
		return
	}
	size := proto.Size(in)
	if s.unconsumed+size > s.settings.Limits.Unconsumed {
		s.end(r, Flooded, fmt.Sprintf("the detection sent more than %d MiB of proposals that were not taken yet", s.settings.Limits.Unconsumed>>20), nil)
		s.sayCancel(now, s.name("cancel"), r, "too many proposals")
		return
	}
	r.proposals += len(in.GetProposals())
	r.bytes += size
	s.unconsumed += size
	s.events = append(s.events, Found{Request: r.id, Proposals: in.GetProposals(), Bytes: size})
}

func (s *Session) detected(now time.Time, in *pb.DetectionComplete) {
	r := s.find(now, in.GetRequestId(), in.GetJobType(), pb.WorkKind_WORK_KIND_DETECTION)
	total := int(in.GetTotalProposals())
	switch {
	case r == nil:
	case !in.GetSuccess() && full(in.GetErrorMessage()):
		s.end(r, AtCapacity, clip(in.GetErrorMessage()), nil)
	case !in.GetSuccess():
		s.end(r, failure(in.GetErrorMessage()), clip(in.GetErrorMessage()), nil)
	case total != 0 && total != r.proposals:
		s.end(r, Flooded, fmt.Sprintf("the detection counts %d proposals, but %d arrived", total, r.proposals), nil)
	default:
		s.end(r, Succeeded, "", nil)
	}
}

func (s *Session) progress(now time.Time, in *pb.JobProgressUpdate) {
	if r := s.requests[in.GetRequestId()]; r != nil && r.kind == pb.WorkKind_WORK_KIND_DETECTION {
		s.explained(r, in)
		return
	}
	r := s.find(now, in.GetRequestId(), in.GetJobType(), pb.WorkKind_WORK_KIND_EXECUTION)
	if r == nil || !s.isJob(now, r, in.GetJobId()) {
		return
	}
	s.print(r, in.GetActivities())
	s.events = append(s.events, Advanced{Request: r.id, Percent: percent(in.GetProgressPercent()), Stage: clip(in.GetStage()), Message: clip(in.GetMessage())})
}

// The activities of a detection explain the findings, or their absence.
func (s *Session) explained(r *request, in *pb.JobProgressUpdate) {
	s.print(r, in.GetActivities())
	s.events = append(s.events, Alive{Request: r.id})
	if in.GetMessage() != "" && len(in.GetActivities()) == 0 {
		s.print(r, []*pb.ActivityEvent{{Stage: in.GetStage(), Message: in.GetMessage()}})
	}
}

func (s *Session) completed(now time.Time, in *pb.JobCompleted) {
	r := s.find(now, in.GetRequestId(), in.GetJobType(), pb.WorkKind_WORK_KIND_EXECUTION)
	if r == nil || !s.isJob(now, r, in.GetJobId()) {
		return
	}
	s.print(r, in.GetActivities())
	switch {
	case in.GetSuccess():
		s.end(r, Succeeded, "", in.GetResult())
	case full(in.GetErrorMessage()):
		s.end(r, AtCapacity, clip(in.GetErrorMessage()), nil)
	default:
		s.end(r, failure(in.GetErrorMessage()), clip(in.GetErrorMessage()), in.GetResult())
	}
}

func (s *Session) print(r *request, activities []*pb.ActivityEvent) {
	var lines []byte
	for _, activity := range activities {
		if activity.GetMessage() == "" {
			continue
		}
		if stage := activity.GetStage(); stage != "" {
			lines = append(append(lines, clip(stage)...), ": "...)
		}
		lines = append(append(lines, clip(activity.GetMessage())...), '\n')
	}
	if len(lines) > 0 {
		s.events = append(s.events, Printed{Request: r.id, Lines: lines})
	}
}

func failure(message string) Outcome {
	if strings.Contains(message, stopped) {
		return Lost
	}
	return Failed
}

func (s *Session) isJob(now time.Time, r *request, jobID string) bool {
	if jobID == r.jobID || jobID == "" {
		return true
	}
	s.refuse(now, CodeWrongJob, clip(r.id)+" is not job "+clip(jobID))
	return false
}

// percent returns 0 to 100, or a negative value for NaN.
func percent(told float64) float64 {
	if told != told { //nolint:gocritic // not a number differs from itself
		return -1
	}
	return min(max(told, 0), 100)
}

const maxText = 1 << 10

func clip(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "")
}
