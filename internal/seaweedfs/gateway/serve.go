package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
)

// leaveWait bounds the wait of a worker that connects again for the end of its last stream.
const leaveWait = 15 * time.Second

// WorkerStream implements the service. It returns at the end of the session and does not wait until the worker has left
// the fleet, because a worker stops its work at the end of its stream.
func (g *Gateway) WorkerStream(s grpc.BidiStreamingServer[pb.WorkerToAdminMessage, pb.AdminToWorkerMessage]) error {
	if !g.enter() {
		return status.Error(codes.ResourceExhausted, "the gateway has as many workers as it takes, or stops")
	}
	defer g.exit()
	unique, err := uniqueName()
	if err != nil {
		g.sessions.Done()
		return status.Error(codes.Internal, err.Error())
	}
	l := newLink(g.options.Session, unique, g.options.Logger)
	go l.read(s) // ends with the stream, which ends when this returns
	go l.tick(s.Context())
	written := make(chan struct{})
	go func() { defer close(written); l.write(s) }()
	go func() { defer g.sessions.Done(); g.run(l) }()
	<-l.ended
	select {
	case <-written: // the last message to the worker
	case <-time.After(stopGrace):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return statusOf(l.closing)
}

func (g *Gateway) enter() bool {
	select {
	case <-g.stopping:
		return false
	default:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count >= g.options.MaxWorkers {
		return false
	}
	g.count++
	g.sessions.Add(1)
	return true
}

func (g *Gateway) exit() {
	g.mu.Lock()
	g.count--
	g.mu.Unlock()
}

func (g *Gateway) run(l *link) {
	var profile session.Profile
	select {
	case profile = <-l.introduced:
	case <-l.ended:
		return
	case <-g.stopping:
		l.close(session.CodeShutdown, "the gateway stops")
		return
	}
	log := l.named(profile.ID)
	ctx, cancel := l.joining(g.stopping)
	defer cancel()
	id := WorkerID(profile.ID)
	free, err := g.take(ctx, id, l)
	if err != nil {
		l.refuse(session.CodeIDInUse, err)
		return
	}
	defer free()
	worker, err := g.worker(l, id, profile, log)
	if err != nil {
		l.refuse(session.CodeBadHello, err)
		return
	}
	l.do(func(s *session.Session, now time.Time) { s.Accept(now) }) // Its handlers may be called before Join returns.
	member, err := g.options.Fleet.Join(ctx, worker)
	cancel()
	if err != nil {
		l.refuse(refusal(err), err)
		return
	}
	log.Info("a weed worker has joined", "worker", id, "version", profile.Version, "job_types", len(worker.Handlers),
		"max_detect", worker.MaxDetect, "max_execute", worker.MaxExecute)
	g.accompany(l, member, log)
}

func (g *Gateway) accompany(l *link, member Member, log *slog.Logger) {
	for {
		select {
		case size := <-l.resized:
			if err := member.Resize(size.Detect, size.Execute); err != nil {
				log.Warn("could not follow the slots of a weed worker", "error", err)
			}
			continue
		case err := <-member.Failed():
			l.refuse(refusal(err), err)
		case <-g.stopping:
			l.do(func(s *session.Session, now time.Time) { s.Shutdown(now, "the gateway stops", 0) })
		case <-l.ended:
		}
		break
	}
	err := member.Leave(context.Background())
	l.close(session.CodeShutdown, "the gateway stops")
	l.abandoned.Wait()
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	log.Info("a weed worker has left", "code", closing.Code, "reason", closing.Reason, "error", err)
}

// joining returns a context that ends with the session. A stop of the gateway ends both, because a worker never joins
// without a control plane.
func (l *link) joining(stopping <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		select {
		case <-l.ended:
		case <-ctx.Done():
		case <-stopping:
			l.close(session.CodeShutdown, "the gateway stops")
		}
	}()
	return ctx, cancel
}

func (l *link) refuse(code session.Code, err error) {
	l.do(func(s *session.Session, now time.Time) { s.Refuse(now, code, err.Error()) })
}

// take refuses an id with a live stream, and waits for one whose stream has ended.
func (g *Gateway) take(ctx context.Context, id string, l *link) (free func(), err error) {
	deadline := time.After(leaveWait)
	for {
		own := &seat{link: l, left: make(chan struct{})}
		g.mu.Lock()
		other := g.seats[id]
		if other == nil {
			g.seats[id] = own
		}
		g.mu.Unlock()
		if other == nil {
			return func() {
				g.mu.Lock()
				delete(g.seats, id)
				g.mu.Unlock()
				close(own.left)
			}, nil
		}
		if !other.link.over() {
			return nil, fmt.Errorf("another worker with the id %q is connected: give each worker an id of its own", id)
		}
		select {
		case <-other.left:
		case <-deadline:
			return nil, fmt.Errorf("the last stream of worker %q is not cleared away yet", id)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (g *Gateway) worker(l *link, id string, p session.Profile, log *slog.Logger) (Worker, error) {
	worker := Worker{
		ID: id, Version: "weed " + p.Version, MaxDetect: p.Detect, MaxExecute: p.Execute,
		Labels: map[string]string{"gateway": "seaweedfs", "weed_worker": p.ID, "weed_address": p.Address},
	}
	var faults []error
	for _, known := range p.JobTypes {
		if form := known.Descriptor; form != nil && form.GetJobType() == "" {
			form.JobType = known.Capability.GetJobType()
		}
		descriptor, err := translate.Descriptor(known.Capability, known.Descriptor)
		if err != nil {
			faults = append(faults, err)
			log.Warn("a job type of a weed worker is left out", "job_type", known.Capability.GetJobType(), "error", err)
			continue
		}
		worker.Handlers = append(worker.Handlers, &handler{
			link: l, lease: g.options.Lease, packer: g.packer, jobType: known.Capability.GetJobType(), form: known.Descriptor, descriptor: descriptor,
		})
	}
	if len(worker.Handlers) == 0 {
		return Worker{}, fmt.Errorf("none of its job types can be used: %w", errors.Join(faults...))
	}
	return worker, nil
}

// keptOfID leaves room for a hash in a worker id.
const keptOfID = jobtype.MaxNameLength - 9

// WorkerID returns the fleet's id of a weed worker: its own valid id, or its valid characters and a hash.
func WorkerID(id string) string {
	if jobtype.ValidateName(id) == nil {
		return id
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '-'
	}, id)
	clean = strings.TrimLeft(clean[:min(len(clean), keptOfID)], "-_")
	clean = cmp.Or(clean, "weed")
	sum := sha256.Sum256([]byte(id))
	return clean + "-" + hex.EncodeToString(sum[:4])
}

func refusal(err error) session.Code {
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return session.CodeIDInUse
	}
	return session.CodeRefused
}

func statusOf(closing session.Closed) error {
	code := codes.FailedPrecondition
	switch closing.Code {
	case session.CodeStreamEnd:
		return nil
	case session.CodeShutdown:
		code = codes.Unavailable
	case session.CodeIDInUse:
		code = codes.AlreadyExists
	case session.CodeFlood, session.CodeBackpressure, session.CodeTooLarge:
		code = codes.ResourceExhausted
	case session.CodeNoHello, session.CodeBadHello, session.CodeEmpty, session.CodeWrongWorker, session.CodeUnknownRequest,
		session.CodeWrongKind, session.CodeWrongJob, session.CodeDuplicate:
		code = codes.InvalidArgument
	case session.CodeSilent, session.CodeChangedHello, session.CodeRefused:
	}
	return status.Error(code, string(closing.Code)+": "+closing.Reason)
}

func uniqueName() (string, error) {
	raw := make([]byte, 6)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("random name: %w", err)
	}
	return hex.EncodeToString(raw), nil
}
