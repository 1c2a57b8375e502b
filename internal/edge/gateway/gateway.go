package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/jobtype"
)

// DefaultSlots is the default of MaxExecute and MaxDetect.
const DefaultSlots = 1

// Options of [New].
type Options struct {
	// Client must use Converter and outlive the gateway.
	Client    client.Client
	Namespace string
	// Converter of the workflows' payloads.
	Converter converter.DataConverter
	// Secret seals tokens and leases; see [SharedSecret].
	Secret []byte
	// Logger defaults to none.
	Logger *slog.Logger
}

// Gateway translates calls of workers. It is safe for concurrent use.
type Gateway struct {
	service   workflowservice.WorkflowServiceClient
	server    *jobs.ClientServer
	commons   *jobs.Commons
	registry  *registry.Registry
	fleet     *fleet
	sealer    *sealer
	namespace string
	converter converter.DataConverter
	logger    *slog.Logger
}

// New returns a gateway. It starts nothing and needs no stop.
func New(o Options) (*Gateway, error) {
	if o.Client == nil || o.Converter == nil || o.Namespace == "" {
		return nil, errors.New("a gateway needs a client, its namespace and its converter")
	}
	sealer, err := newSealer(o.Secret)
	if err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	known, server := registry.New(o.Client), jobs.NewServer(o.Client, pages.NewStore(o.Client, o.Namespace, o.Converter))
	return &Gateway{
		service: o.Client.WorkflowService(), server: server, commons: jobs.NewCommons(server), registry: known, fleet: newFleet(known),
		sealer: sealer, namespace: o.Namespace, converter: o.Converter, logger: o.Logger,
	}, nil
}

// Registration is the data with which a worker registers.
type Registration struct {
	// ID names the worker for the lifetime of its node. Default: a generated one.
	ID string `json:"id,omitempty"`
	// Name of the process, which repeats it with a registration. Default: a generated one.
	Instance string `json:"instance,omitempty"`
	// Host, PID and Version are shown to operators.
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Version string `json:"version,omitempty"`
	// Labels are compared with the labels that proposals require.
	Labels map[string]string `json:"labels,omitempty"`
	// Handlers of the worker, at least one. A descriptor is optional.
	Capabilities []contract.Capability `json:"capabilities"`
	// JobTypes restricts the worker to these job types; empty allows all of its handlers.
	JobTypes []string `json:"job_types,omitempty"`
	// MaxExecute and MaxDetect are its slots; 0 means none. Default: [DefaultSlots].
	MaxExecute *int `json:"max_execute,omitempty"`
	MaxDetect  *int `json:"max_detect,omitempty"`
	// Token of an ended process of this worker, which the registry may still consider alive.
	Previous string `json:"previous,omitempty"`
	// TakeOver fences a live process of the same id.
	TakeOver bool `json:"take_over,omitempty"`
	// Key is the id of the API key used. The token is valid only while the key is.
	Key string `json:"-"`
}

// Registered is the answer to an accepted registration.
type Registered struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// Token authenticates the worker's other calls, at every gateway.
	Token string `json:"token"`
	// ReconnectDelay is the pause before repeating a call without an answer.
	ReconnectDelay jobtype.Duration `json:"reconnect_delay"`
	Settings
}

// reconnectDelay is the value of ReconnectDelay in every [Registered].
const reconnectDelay = jobtype.Duration(5 * time.Second)

// Settings are the registry's settings for a worker.
type Settings struct {
	// Longest time between pings. After three missed pings the worker gets no work.
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	// UnreachableAfter and OfflineAfter are the thresholds of missing pings.
	UnreachableAfter jobtype.Duration `json:"unreachable_after,omitempty"`
	OfflineAfter     jobtype.Duration `json:"offline_after,omitempty"`
	// MaxExecute and MaxDetect are the effective caps.
	MaxExecute int `json:"max_execute"`
	MaxDetect  int `json:"max_detect"`
	// Held means that an operator drains or cordons the worker, so it gets no work.
	Held bool `json:"held,omitempty"`
}

// Register waits only for the answer of a stale process with the same id. A live one gives an [*Error] with CodeIDInUse.
// A repetition with the same Instance is accepted with another valid token.
func (g *Gateway) Register(ctx context.Context, in Registration) (Registered, error) {
	registration, err := in.registration()
	if err != nil {
		return Registered{}, invalid(err)
	}
	verdict, err := g.registry.Register(ctx, registration, g.predecessor(in))
	switch {
	case err != nil && registry.Final(err):
		return Registered{}, invalid(err)
	case err != nil:
		return Registered{}, unavailable("the registry does not answer", err)
	case !verdict.Accepted:
		return Registered{}, inUse(registration.ID, verdict)
	}
	var settings contract.WorkerSettings
	if verdict.Settings != nil {
		settings = *verdict.Settings
	}
	who := identity{
		ID: registration.ID, Instance: registration.Instance, Host: registration.Host, PID: registration.PID, Version: registration.Version,
		Started: time.Now().Unix(), MaxExecute: registration.MaxExecute, MaxDetect: registration.MaxDetect, Key: in.Key,
	}
	answer := settingsOf(settings, who)
	who.Interval = int64(answer.HeartbeatInterval.Std() / time.Second)
	token, err := g.sealer.seal(sealedWorker, who)
	if err != nil {
		return Registered{}, err
	}
	return Registered{ID: who.ID, Instance: who.Instance, Token: TokenPrefix + token, ReconnectDelay: reconnectDelay, Settings: answer}, nil
}

func (in Registration) registration() (contract.WorkerRegistration, error) {
	r := contract.WorkerRegistration{
		ID: in.ID, Instance: in.Instance, Host: in.Host, PID: in.PID, Version: in.Version, Labels: in.Labels, JobTypes: in.JobTypes,
		MaxDetect: slots(in.MaxDetect), MaxExecute: slots(in.MaxExecute), TakeOver: in.TakeOver, Remote: true,
	}
	r.Instance = cmp.Or(r.Instance, randomInstance())
	r.ID = cmp.Or(r.ID, "remote-"+strings.ToLower(randomInstance()))
	r.Host = cmp.Or(r.Host, "unknown")
	var faults []error
	if err := jobtype.ValidateName(r.ID); err != nil {
		faults = append(faults, fmt.Errorf("id: %w", err))
	}
	if len(in.Capabilities) == 0 {
		faults = append(faults, errors.New("capabilities: a worker without handlers has nothing to do"))
	}
	for i, c := range in.Capabilities {
		if err := describe(&c); err != nil {
			faults = append(faults, fmt.Errorf("capabilities[%d]: %w", i, err))
		}
		r.Capabilities = append(r.Capabilities, c)
	}
	return r, errors.Join(faults...)
}

func slots(written *int) int {
	if written == nil {
		return DefaultSlots
	}
	return *written
}

func describe(c *contract.Capability) error {
	if c.Descriptor == nil {
		if !c.Detect && !c.Execute {
			c.Detect, c.Execute = true, true
		}
		c.Descriptor = &jobtype.Descriptor{
			Name: c.Handler, ExecuteOnly: !c.Detect, DetectOnly: !c.Execute, MaxDetectConcurrency: c.MaxDetect, MaxExecuteConcurrency: c.MaxExecute,
		}
	}
	if c.Handler == "" {
		*c = contract.CapabilityOf(*c.Descriptor)
	}
	if c.Handler != c.Descriptor.Name {
		return fmt.Errorf("handler %q and its descriptor's name %q differ", c.Handler, c.Descriptor.Name)
	}
	return c.Descriptor.Validate()
}

func (g *Gateway) predecessor(in Registration) string {
	if in.Previous == "" {
		return ""
	}
	before, err := g.Worker(in.Previous)
	if err != nil || before.who.ID != in.ID {
		return ""
	}
	return before.who.Instance
}

func inUse(id string, verdict contract.RegisterWorkerResult) *Error {
	other := verdict.Refused
	e := &Error{
		Code: CodeIDInUse, Holder: other, Message: fmt.Sprintf("another live process has the id %s", id),
		Remedy: "stop that process, choose another id, wait until its heartbeat is stale, or send take_over",
	}
	if verdict.Stale {
		e.Remedy = "its heartbeat is stale, but it answers: stop that process, choose another id, or send take_over"
	}
	if other != nil {
		e.Message = fmt.Sprintf("process %d on host %s has the id %s, registered %s ago, last heartbeat at most %s ago", other.PID, other.Host, id, toSecond(other.Age), toSecond(other.SinceBeat))
	}
	if other != nil && !verdict.Stale {
		e.RetryAfter = max(contract.FleetConfig{}.WithDefaults().FreshFor()-other.SinceBeat.Std(), time.Second)
	}
	return e
}

func toSecond(d jobtype.Duration) jobtype.Duration {
	return jobtype.Duration(d.Std().Round(time.Second))
}

func settingsOf(s contract.WorkerSettings, who identity) Settings {
	config := contract.FleetConfig{}
	if who.Interval > 0 {
		config.HeartbeatInterval = jobtype.Duration(time.Duration(who.Interval) * time.Second)
	}
	if s.Fleet != nil {
		config = *s.Fleet
	}
	config = config.WithDefaults()
	answer := Settings{
		HeartbeatInterval: config.HeartbeatInterval, UnreachableAfter: config.UnreachableAfter, OfflineAfter: config.OfflineAfter,
		MaxExecute: who.MaxExecute, MaxDetect: who.MaxDetect, Held: s.Held,
	}
	if s.Resized != nil {
		answer.MaxExecute, answer.MaxDetect = s.Resized.MaxExecute, s.Resized.MaxDetect
	}
	return answer
}
