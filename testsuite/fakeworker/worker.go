package fakeworker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Stream is the worker's end of the protocol.
type Stream = grpc.BidiStreamingClient[pb.WorkerToAdminMessage, pb.AdminToWorkerMessage]

// Emit sends a page of proposals.
type Emit func(hasMore bool, proposals ...*pb.JobProposal) error

// Options describe a worker. Its defaults are those of `weed worker`.
type Options struct {
	// Admin is -admin: host:port of HTTP, or host:port.grpcport.
	Admin, ID string
	JobTypes  []string
	// MaxDetect and MaxExecute are -maxDetect and -maxExecute.
	MaxDetect, MaxExecute int
	Heartbeat, Reconnect  time.Duration
	// FreeAfter is the time between the report of a job's end and the release of its slot.
	FreeAfter time.Duration
	// Deny is the number of cancellations that find no work: work is accepted a moment before it can be canceled.
	Deny int
	// Credentials are those of its grpc.worker section; nil for none.
	Credentials credentials.TransportCredentials
	// Schema returns the form of a job type; nil means [Descriptor].
	Schema func(jobType string) *pb.JobTypeDescriptor
	// Detect and Execute do the work. By default nothing is found, and every job succeeds at once.
	Detect  func(ctx context.Context, in *pb.RunDetectionRequest, emit Emit) error
	Execute func(ctx context.Context, in *pb.ExecuteJobRequest, report func(percent float64, stage string)) (*pb.JobResult, error)
}

func (o Options) withDefaults() Options {
	if len(o.JobTypes) == 0 {
		o.JobTypes = JobTypes()
	}
	o.MaxDetect, o.MaxExecute = max(o.MaxDetect, 1), max(o.MaxExecute, 1)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Reconnect = cmp.Or(o.Reconnect, 5*time.Second)
	if o.Schema == nil {
		o.Schema = Descriptor
	}
	if o.Detect == nil {
		o.Detect = func(context.Context, *pb.RunDetectionRequest, Emit) error { return nil }
	}
	if o.Execute == nil {
		o.Execute = func(context.Context, *pb.ExecuteJobRequest, func(float64, string)) (*pb.JobResult, error) {
			return &pb.JobResult{Summary: "done"}, nil
		}
	}
	return o
}

// Run connects until ctx ends, and again after each loss.
func Run(ctx context.Context, options Options) error {
	options = options.withDefaults()
	for {
		err := Once(ctx, options)
		timer := time.NewTimer(options.Reconnect)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// Discover finds the address of the stream like workers do.
func Discover(ctx context.Context, admin string) (string, error) {
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		return "", err
	}
	if _, own, dotted := strings.Cut(port, "."); dotted {
		return net.JoinHostPort(host, own), nil
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	fallback := net.JoinHostPort(host, strconv.Itoa(number+10_000))
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/api/plugin/status", nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return fallback, nil
	}
	defer response.Body.Close()
	var status struct {
		Port int `json:"worker_grpc_port"`
	}
	if json.NewDecoder(response.Body).Decode(&status) != nil || status.Port == 0 {
		return fallback, nil
	}
	return net.JoinHostPort(host, strconv.Itoa(status.Port)), nil
}

// Dial opens the bare stream. The caller closes the connection.
func Dial(ctx context.Context, admin string) (Stream, *grpc.ClientConn, error) {
	return dial(ctx, admin, insecure.NewCredentials())
}

func dial(ctx context.Context, admin string, secured credentials.TransportCredentials) (Stream, *grpc.ClientConn, error) {
	address, err := Discover(ctx, admin)
	if err != nil {
		return nil, nil, err
	}
	const gib = 1 << 30
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(secured),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(gib), grpc.MaxCallSendMsgSize(gib)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 20 * time.Second, PermitWithoutStream: true}))
	if err != nil {
		return nil, nil, err
	}
	stream, err := pb.NewPluginControlServiceClient(connection).WorkerStream(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, connection.Close())
	}
	return stream, connection, nil
}

// Hello returns the first message of a worker with these options.
func Hello(o Options) *pb.WorkerToAdminMessage {
	hello := &pb.WorkerHello{
		WorkerId: o.ID, WorkerInstanceId: o.ID + "-1", Address: "localhost", WorkerVersion: "4.44", ProtocolVersion: "plugin.v1",
		Metadata: map[string]string{"runtime": "plugin", "job_types": strings.Join(o.JobTypes, ",")},
	}
	for _, name := range o.JobTypes {
		hello.Capabilities = append(hello.Capabilities, &pb.JobTypeCapability{
			JobType: name, CanDetect: true, CanExecute: true, DisplayName: name,
			MaxDetectionConcurrency: int32(o.MaxDetect), MaxExecutionConcurrency: int32(o.MaxExecute), //nolint:gosec // small
		})
	}
	return &pb.WorkerToAdminMessage{WorkerId: o.ID, Body: &pb.WorkerToAdminMessage_Hello{Hello: hello}}
}

// ErrRefused is returned if the admin did not accept the worker.
var ErrRefused = errors.New("the admin refused the worker")

// Once serves one connection. The end of the connection cancels all work.
func Once(ctx context.Context, options Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	secured := options.Credentials
	if secured == nil {
		secured = insecure.NewCredentials()
	}
	stream, connection, err := dial(ctx, options.Admin, secured)
	if err != nil {
		return err
	}
	defer connection.Close()
	c := &connectionState{
		options: options, stream: stream, cancels: map[string]context.CancelFunc{}, running: map[string]*pb.RunningWork{},
		detect: make(chan struct{}, options.MaxDetect), execute: make(chan struct{}, options.MaxExecute),
	}
	defer c.work.Wait()
	defer cancel()
	if err := c.send(Hello(options)); err != nil {
		return err
	}
	c.work.Go(func() { c.beat(ctx) })
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		if hello := message.GetHello(); hello != nil && !hello.GetAccepted() {
			return fmt.Errorf("%w: %s", ErrRefused, hello.GetMessage())
		}
		c.take(ctx, message)
	}
}

type connectionState struct {
	options         Options
	stream          Stream
	detect, execute chan struct{}
	work            sync.WaitGroup

	sending sync.Mutex
	mu      sync.Mutex
	cancels map[string]context.CancelFunc
	denied  int
	running map[string]*pb.RunningWork
}

func (c *connectionState) send(message *pb.WorkerToAdminMessage) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	message.WorkerId, message.SentAt = c.options.ID, timestamppb.Now()
	return c.stream.Send(message)
}

func (c *connectionState) say(message *pb.WorkerToAdminMessage) {
	_ = c.send(message) // the stream is over, which the receiver sees
}

func (c *connectionState) ack(id string, accepted bool, text string) {
	c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Acknowledge{Acknowledge: &pb.WorkerAcknowledge{RequestId: id, Accepted: accepted, Message: text}}})
}

// beat sends heartbeats until ctx ends.
func (c *connectionState) beat(ctx context.Context) {
	ticker := time.NewTicker(c.options.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.heartbeat()
		case <-ctx.Done():
			return
		}
	}
}

func (c *connectionState) heartbeat() {
	c.mu.Lock()
	beat := &pb.WorkerHeartbeat{
		WorkerId: c.options.ID, DetectionSlotsUsed: int32(len(c.detect)), DetectionSlotsTotal: int32(cap(c.detect)), //nolint:gosec // small
		ExecutionSlotsUsed: int32(len(c.execute)), ExecutionSlotsTotal: int32(cap(c.execute)), //nolint:gosec // small
	}
	for _, work := range c.running {
		beat.RunningWork = append(beat.RunningWork, work)
	}
	c.mu.Unlock()
	c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Heartbeat{Heartbeat: beat}})
}

func (c *connectionState) take(ctx context.Context, message *pb.AdminToWorkerMessage) {
	switch body := message.GetBody().(type) {
	case *pb.AdminToWorkerMessage_RequestConfigSchema:
		name := body.RequestConfigSchema.GetJobType()
		form := c.options.Schema(name)
		c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_ConfigSchemaResponse{ConfigSchemaResponse: &pb.ConfigSchemaResponse{
			RequestId: message.GetRequestId(), JobType: name, Success: form != nil, JobTypeDescriptor: form,
		}}})
	case *pb.AdminToWorkerMessage_RunDetectionRequest:
		c.work.Go(func() { c.runDetection(ctx, body.RunDetectionRequest) })
	case *pb.AdminToWorkerMessage_ExecuteJobRequest:
		select {
		case c.execute <- struct{}{}:
			c.work.Go(func() { c.runJob(ctx, body.ExecuteJobRequest) })
		default:
			c.completed(body.ExecuteJobRequest, nil, errors.New("executor is at capacity"))
		}
	case *pb.AdminToWorkerMessage_CancelRequest:
		c.cancel(message.GetRequestId(), body.CancelRequest.GetTargetId())
	case *pb.AdminToWorkerMessage_Shutdown:
		c.ack(message.GetRequestId(), true, "shutdown acknowledged")
	}
}

func (c *connectionState) cancel(id, target string) {
	c.mu.Lock()
	cancel := c.cancels[target]
	if c.denied < c.options.Deny {
		c.denied++
		cancel = nil
	}
	c.mu.Unlock()
	if cancel == nil {
		c.ack(id, false, "cancel target not found")
		return
	}
	cancel()
	c.ack(id, true, "cancel request accepted")
}

// track makes work cancelable under its ids.
func (c *connectionState) track(ctx context.Context, work *pb.RunningWork, ids ...string) (tracked context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.cancels[id] = cancel
	}
	c.running[work.GetWorkId()] = work
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, id := range ids {
			delete(c.cancels, id)
		}
		delete(c.running, work.GetWorkId())
	}
}

func (c *connectionState) runDetection(ctx context.Context, in *pb.RunDetectionRequest) {
	ctx, done := c.track(ctx, &pb.RunningWork{WorkId: in.GetRequestId(), Kind: pb.WorkKind_WORK_KIND_DETECTION, JobType: in.GetJobType()}, in.GetRequestId())
	defer done()
	c.ack(in.GetRequestId(), true, "detection request accepted")
	select {
	case c.detect <- struct{}{}:
	case <-ctx.Done():
	}
	c.heartbeat()
	total, last := int32(0), true
	err := c.options.Detect(ctx, in, func(more bool, proposals ...*pb.JobProposal) error {
		total, last = total+int32(len(proposals)), !more //nolint:gosec // small
		return c.page(in, more, proposals)
	})
	if err == nil && (total == 0 || !last) {
		err = c.page(in, false, nil)
	}
	select {
	case <-c.detect:
	default: // It was canceled before it had a slot.
	}
	if total == 0 {
		c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: &pb.JobProgressUpdate{
			RequestId: in.GetRequestId(), JobType: in.GetJobType(), Activities: []*pb.ActivityEvent{{Stage: "decision_summary", Message: "No tasks created for 8 volumes"}},
		}}})
	}
	complete := &pb.DetectionComplete{RequestId: in.GetRequestId(), JobType: in.GetJobType(), Success: err == nil, TotalProposals: total}
	if err != nil {
		complete.ErrorMessage = err.Error()
	}
	c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: complete}})
	c.heartbeat()
}

func (c *connectionState) page(in *pb.RunDetectionRequest, more bool, proposals []*pb.JobProposal) error {
	return c.send(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: &pb.DetectionProposals{
		RequestId: in.GetRequestId(), JobType: in.GetJobType(), Proposals: proposals, HasMore: more,
	}}})
}

func (c *connectionState) runJob(ctx context.Context, in *pb.ExecuteJobRequest) {
	job := in.GetJob()
	ctx, done := c.track(ctx, &pb.RunningWork{WorkId: job.GetJobId(), Kind: pb.WorkKind_WORK_KIND_EXECUTION, JobType: job.GetJobType()}, in.GetRequestId(), job.GetJobId())
	defer done()
	c.ack(in.GetRequestId(), true, "execute request accepted")
	c.heartbeat()
	report := func(percent float64, stage string) {
		c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: &pb.JobProgressUpdate{
			RequestId: in.GetRequestId(), JobId: job.GetJobId(), JobType: job.GetJobType(), State: pb.JobState_JOB_STATE_RUNNING, ProgressPercent: percent, Stage: stage,
			Activities: []*pb.ActivityEvent{{Stage: stage, Message: fmt.Sprintf("%g percent of %s", percent, job.GetDedupeKey())}},
		}}})
	}
	report(0, "assigned")
	result, err := c.options.Execute(ctx, in, report)
	c.completed(in, result, err)
	if c.options.FreeAfter > 0 {
		<-time.After(c.options.FreeAfter)
	}
	<-c.execute
	c.heartbeat()
}

func (c *connectionState) completed(in *pb.ExecuteJobRequest, result *pb.JobResult, err error) {
	done := &pb.JobCompleted{
		RequestId: in.GetRequestId(), JobId: in.GetJob().GetJobId(), JobType: in.GetJob().GetJobType(), Success: err == nil, Result: result,
		Activities: []*pb.ActivityEvent{{Stage: "completed", Message: "the job has ended"}, {Stage: "nothing"}},
	}
	if err != nil {
		done.ErrorMessage = err.Error()
	}
	c.say(&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_JobCompleted{JobCompleted: done}})
}
