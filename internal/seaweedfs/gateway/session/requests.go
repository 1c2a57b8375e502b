package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

var (
	// ErrNotReady means that the session has not joined, or has ended.
	ErrNotReady = errors.New("the worker is not connected")
	// ErrFull means that too many requests are in flight.
	ErrFull = errors.New("too many requests of this worker are in flight")
)

type request struct {
	id      string
	kind    pb.WorkKind
	jobType string
	// jobID is empty for a detection.
	jobID string
	// canceled: its end was requested. denied counts the worker's answers that it does not have the request.
	canceled         bool
	denied           int
	proposals, bytes int
}

// Detect sends a detection. Its request id must be new.
func (s *Session) Detect(now time.Time, in *pb.RunDetectionRequest) error {
	r := &request{id: in.GetRequestId(), kind: pb.WorkKind_WORK_KIND_DETECTION, jobType: in.GetJobType()}
	if err := s.begin(r); err != nil {
		return err
	}
	s.say(now, r.id, &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_RunDetectionRequest{RunDetectionRequest: in}})
	return nil
}

// Execute sends a job. Its request id must be new.
func (s *Session) Execute(now time.Time, in *pb.ExecuteJobRequest) error {
	r := &request{id: in.GetRequestId(), kind: pb.WorkKind_WORK_KIND_EXECUTION, jobType: in.GetJob().GetJobType(), jobID: in.GetJob().GetJobId()}
	if err := s.begin(r); err != nil {
		return err
	}
	s.jobs[r.jobID] = r.id
	s.say(now, r.id, &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_ExecuteJobRequest{ExecuteJobRequest: in}})
	return nil
}

func (s *Session) begin(r *request) error {
	switch {
	case s.phase != ready:
		return ErrNotReady
	case len(s.requests) >= s.settings.Limits.Requests:
		return ErrFull
	case r.id == "" || s.requests[r.id] != nil || s.ended.has(r.id):
		return fmt.Errorf("request id %q is not new", r.id)
	}
	s.requests[r.id] = r
	return nil
}

// Cancel requests the end of a request. A repeat sends the cancel again.
func (s *Session) Cancel(now time.Time, id, reason string) {
	r := s.requests[id]
	if r == nil {
		return
	}
	r.canceled = true
	control := s.name("cancel")
	s.controls[control] = id
	s.sayCancel(now, control, r, reason)
}

func (s *Session) sayCancel(now time.Time, control string, r *request, reason string) {
	s.say(now, control, &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_CancelRequest{
		CancelRequest: &pb.CancelRequest{TargetId: r.id, TargetKind: r.kind, Reason: reason},
	}})
}

// Consume frees the bytes of taken proposals.
func (s *Session) Consume(id string, bytes int) {
	if r := s.requests[id]; r != nil {
		bytes = min(bytes, r.bytes)
		r.bytes -= bytes
		s.unconsumed -= bytes
	}
}

func (s *Session) end(r *request, outcome Outcome, message string, result *pb.JobResult) {
	delete(s.requests, r.id)
	if s.jobs[r.jobID] == r.id {
		delete(s.jobs, r.jobID)
	}
	maps.DeleteFunc(s.controls, func(_, target string) bool { return target == r.id })
	s.unconsumed -= r.bytes
	s.ended.add(r.id)
	if r.canceled && outcome != Succeeded {
		outcome = Canceled // Also if the stream ended: the worker has stopped it.
	}
	s.events = append(s.events, Ended{Request: r.id, Outcome: outcome, Message: message, Result: result})
}

// say queues a message. A worker that reads nothing is disconnected.
func (s *Session) say(now time.Time, id string, message *pb.AdminToWorkerMessage) {
	if s.phase == closed {
		return
	}
	if s.unsent+len(s.out) >= s.settings.Limits.Unsent {
		s.close(CodeBackpressure, fmt.Sprintf("the worker has not read %d messages", s.unsent+len(s.out)))
		return
	}
	message.RequestId, message.SentAt = id, timestamppb.New(now)
	s.out = append(s.out, message)
}

func (s *Session) name(kind string) string {
	s.nextID++
	return fmt.Sprintf("%s-%d", kind, s.nextID)
}

func sortedIDs(requests map[string]*request) []string { return slices.Sorted(maps.Keys(requests)) }

type ring struct {
	known map[string]struct{}
	order []string
	next  int
}

func (r *ring) has(id string) bool {
	_, known := r.known[id]
	return known
}

func (r *ring) add(id string) {
	if r.known == nil {
		r.known = map[string]struct{}{}
	}
	if len(r.order) < maxEnded {
		r.order = append(r.order, id)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % maxEnded
	}
	r.known[id] = struct{}{}
}
