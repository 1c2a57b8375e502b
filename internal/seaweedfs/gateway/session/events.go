package session

import (
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Event is what happened. It is one of the types below.
type Event interface{ event() }

// Introduced reports that the worker has told what it can do and may join the fleet.
type Introduced struct{ Profile Profile }

// Alive reports that the worker works on the request.
type Alive struct{ Request string }

// Found brings proposals of a detection, in order. Report them as taken with
// [Session.Consume].
type Found struct {
	Request   string
	Proposals []*pb.JobProposal
	Bytes     int
}

// Advanced brings the progress of a job.
type Advanced struct {
	Request        string
	Percent        float64
	Stage, Message string
}

// Printed brings what a worker writes about a job, in whole lines.
type Printed struct {
	Request string
	Lines   []byte
}

// Ended ends a request.
type Ended struct {
	Request string
	Outcome Outcome
	// Message is the worker's, or says why there is no outcome of the worker.
	Message string
	// Result is that of a job that was done.
	Result *pb.JobResult
}

// Resized reports that the worker's heartbeat counts other slots than it had.
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

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	// AtCapacity: the worker had no free slot. It is no attempt.
	AtCapacity Outcome = "at_capacity"
	// Rejected: the worker did not accept the request.
	Rejected Outcome = "rejected"
	// Canceled: it was canceled and the worker has ended it, or does not have it.
	Canceled Outcome = "canceled"
	// Lost: the stream ended first. The worker has stopped it.
	Lost Outcome = "lost"
	// Flooded: a detection sent more than can be held, or less than it says.
	Flooded Outcome = "flooded"
)

// Code says why a message was dropped or a session closed.
type Code string

// The codes.
const (
	CodeNoHello        Code = "NO_HELLO"
	CodeBadHello       Code = "BAD_HELLO"
	CodeChangedHello   Code = "CHANGED_HELLO"
	CodeIDInUse        Code = "ID_IN_USE"
	CodeRefused        Code = "REFUSED"
	CodeEmpty          Code = "EMPTY"
	CodeWrongWorker    Code = "WRONG_WORKER"
	CodeUnknownRequest Code = "UNKNOWN_REQUEST"
	CodeWrongKind      Code = "WRONG_KIND"
	CodeWrongJob       Code = "WRONG_JOB"
	CodeDuplicate      Code = "DUPLICATE"
	CodeTooLarge       Code = "TOO_LARGE"
	CodeFlood          Code = "FLOOD"
	CodeSilent         Code = "SILENT"
	CodeBackpressure   Code = "BACKPRESSURE"
	CodeStreamEnd      Code = "STREAM_END"
	CodeShutdown       Code = "SHUTDOWN"
)

// Profile is a worker as its hello describes it.
type Profile struct {
	ID       string
	Instance string
	Address  string
	Version  string
	// JobTypes are in the order of the hello.
	JobTypes []JobType
	// Detect and Execute are how many it runs at once.
	Detect, Execute int
}

// JobType is a job type of a worker; Descriptor is nil where the worker sent none in time.
type JobType struct {
	Capability *pb.JobTypeCapability
	Descriptor *pb.JobTypeDescriptor
}
