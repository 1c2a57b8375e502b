package session

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

func (s *Session) greet(now time.Time, in *pb.WorkerHello) {
	if fault := s.helloFault(in); fault != "" {
		s.Refuse(now, CodeBadHello, fault)
		return
	}
	s.profile = Profile{ID: in.GetWorkerId(), Instance: clip(in.GetWorkerInstanceId()), Address: clip(in.GetAddress()), Version: clip(in.GetWorkerVersion())}
	for _, capability := range in.GetCapabilities() {
		if !s.knows(capability.GetJobType()) && able(capability) {
			s.profile.JobTypes = append(s.profile.JobTypes, JobType{Capability: capability})
			s.profile.Detect = max(s.profile.Detect, slots(int(capability.GetMaxDetectionConcurrency()), 1))
			s.profile.Execute = max(s.profile.Execute, slots(int(capability.GetMaxExecutionConcurrency()), 1))
		}
	}
	if len(s.profile.JobTypes) == 0 {
		s.Refuse(now, CodeBadHello, "the worker can neither detect nor execute anything")
		return
	}
	s.phase, s.started = asking, now
	s.say(now, "", &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_Hello{Hello: s.hello(true, "")}})
	for i, known := range s.profile.JobTypes {
		id := s.name("schema")
		s.schemas[id] = i
		s.say(now, id, &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_RequestConfigSchema{
			RequestConfigSchema: &pb.RequestConfigSchema{JobType: known.Capability.GetJobType()},
		}})
	}
}

func able(c *pb.JobTypeCapability) bool { return c.GetCanDetect() || c.GetCanExecute() }

func (s *Session) knows(jobType string) bool {
	return slices.ContainsFunc(s.profile.JobTypes, func(known JobType) bool { return known.Capability.GetJobType() == jobType })
}

func (s *Session) helloFault(in *pb.WorkerHello) string {
	switch {
	case in.GetWorkerId() == "":
		return "the hello has no worker id"
	case len(in.GetWorkerId()) > maxID:
		return fmt.Sprintf("the worker id has more than %d bytes", maxID)
	case len(in.GetCapabilities()) > s.settings.Limits.JobTypes:
		return fmt.Sprintf("the hello has %d job types, the limit is %d", len(in.GetCapabilities()), s.settings.Limits.JobTypes)
	}
	for _, capability := range in.GetCapabilities() {
		if name := capability.GetJobType(); name == "" || len(name) > maxID {
			return fmt.Sprintf("the name of a job type must have 1 to %d bytes", maxID)
		}
	}
	return ""
}

// A worker with other job types must connect again.
func (s *Session) greetAgain(now time.Time, in *pb.WorkerHello) {
	same := in.GetWorkerId() == s.profile.ID
	for _, capability := range in.GetCapabilities() {
		same = same && (s.knows(capability.GetJobType()) || !able(capability))
	}
	for _, known := range s.profile.JobTypes {
		same = same && slices.ContainsFunc(in.GetCapabilities(), func(c *pb.JobTypeCapability) bool { return proto.Equal(c, known.Capability) })
	}
	if !same {
		s.Refuse(now, CodeChangedHello, "the worker has changed its job types or slots: it must connect again")
		return
	}
	// Repeating the answer is harmless, flooding with it is not.
	s.refuse(now, CodeDuplicate, "hello")
	s.say(now, "", &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_Hello{Hello: s.hello(true, "")}})
}

// maxForm bounds the form of one job type, which is part of the registration.
const maxForm = 256 << 10

func (s *Session) schema(now time.Time, in *pb.ConfigSchemaResponse) {
	id := in.GetRequestId()
	i, asked := s.schemas[id]
	switch {
	case !asked:
		s.refuse(now, CodeUnknownRequest, "schema "+clip(id))
		return
	case in.GetJobType() != "" && in.GetJobType() != s.profile.JobTypes[i].Capability.GetJobType():
		s.refuse(now, CodeWrongJob, "schema of "+clip(in.GetJobType()))
		return
	case proto.Size(in) > maxForm:
		s.refuse(now, CodeTooLarge, fmt.Sprintf("schema of %s: %d bytes", in.GetJobType(), proto.Size(in)))
	case s.phase != asking:
		s.refuse(now, CodeDuplicate, "schema "+clip(id)+" came after the wait for it")
	case in.GetSuccess():
		s.profile.JobTypes[i].Descriptor = in.GetJobTypeDescriptor()
	}
	delete(s.schemas, id)
	if s.phase == asking && len(s.schemas) == 0 {
		s.introduce(now)
	}
}

// introduce reports the worker. It does not wait for missing forms.
func (s *Session) introduce(now time.Time) {
	s.phase, s.started = joining, now
	s.events = append(s.events, Introduced{Profile: s.profile})
}
