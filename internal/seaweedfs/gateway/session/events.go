package session

import (
	"github.com/roundsman/roundsman/contract"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Event is one of the types below.
type Event interface{ event() }

// Introduced reports that the worker has described itself and may join the fleet.
type Introduced struct{ Profile Profile }

// Alive reports that the worker works on the request.
type Alive struct{ Request string }

// Found has proposals of a detection, in order. Call [Session.Consume] after taking them.
type Found struct {
	Request   string
	Proposals []*pb.JobProposal
	Bytes     int
}

// Advanced has the progress of a job.
type Advanced struct {
	Request        string
	Percent        float64
	Stage, Message string
}

// Printed has a worker's output for a job, in whole lines.
type Printed struct {
	Request string
	Lines   []byte
}

// Ended ends a request.
type Ended struct {
	Request string
	Outcome Outcome
	// Message is the worker's, or the reason why the worker has no outcome.
	Message string
	// Result is the result of a successful job.
	Result *pb.JobResult
}

// Resized reports that the slots in the worker's heartbeat have changed.
type Resized struct{ Detect, Execute int }

// Refused reports that a message was dropped.
type Refused struct {
	Code   Code
	Detail string
}

// Closed ends the session: the stream must be closed. It is the last event.
type Closed struct {
	Code   Code
	Reason string
}

func (Introduced) event() {}
func (Alive) event()      {}
func (Found) event()      {}
func (Advanced) event()   {}
func (Printed) event()    {}
func (Ended) event()      {}
func (Resized) event()    {}
func (Refused) event()    {}
func (Closed) event()     {}

// Outcome is the result of a request.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	// AtCapacity means that the worker had no free slot. It is no attempt.
	AtCapacity Outcome = "at_capacity"
	// Rejected means that the worker did not accept the request.
	Rejected Outcome = "rejected"
	// Canceled means that the worker has ended the canceled request, or does not have it.
	Canceled Outcome = "canceled"
	// Lost means that the stream ended first. The worker has stopped the request.
	Lost Outcome = "lost"
	// Flooded means that a detection sent more than the bounds allow, or less than its count.
	Flooded Outcome = "flooded"
)

// Code is the reason for a dropped message or a closed session.
type Code string

// The codes.
const (
	CodeNoHello        Code = "NO_HELLO"
	CodeBadHello       Code = "BAD_HELLO"
	CodeChangedHello   Code = "CHANGED_HELLO"
	CodeIDInUse             = Code(contract.CodeIDInUse)
	CodeRefused             = Code(contract.CodeRefused)
	CodeEmpty          Code = "EMPTY"
	CodeWrongWorker    Code = "WRONG_WORKER"
	CodeUnknownRequest Code = "UNKNOWN_REQUEST"
	CodeWrongKind      Code = "WRONG_KIND"
	CodeWrongJob       Code = "WRONG_JOB"
	CodeDuplicate           = Code(contract.CodeDuplicate)
	CodeTooLarge            = Code(contract.CodeTooLarge)
	CodeFlood          Code = "FLOOD"
	CodeSilent         Code = "SILENT"
	CodeBackpressure   Code = "BACKPRESSURE"
	CodeStreamEnd      Code = "STREAM_END"
	CodeShutdown       Code = "SHUTDOWN"
)

// Profile is the worker's description from its hello.
type Profile struct {
	ID       string
	Instance string
	Address  string
	Version  string
	// JobTypes are in the order of the hello.
	JobTypes []JobType
	// Detect and Execute are the numbers of its slots.
	Detect, Execute int
}

// JobType is a job type of a worker; Descriptor is nil if the worker sent none in time.
type JobType struct {
	Capability *pb.JobTypeCapability
	Descriptor *pb.JobTypeDescriptor
}
