package gateway

import (
	"context"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/jobtype"
)

// TokenPrefix distinguishes a worker's token from API keys.
const TokenPrefix = "rmw_"

// identity is the content of a worker's token. Its names are short, since each call contains it.
type identity struct {
	ID         string `json:"i"`
	Instance   string `json:"n"`
	Host       string `json:"h"`
	PID        int    `json:"p"`
	Version    string `json:"v"`
	Started    int64  `json:"s"`
	MaxExecute int    `json:"e"`
	MaxDetect  int    `json:"d"`
	// Interval is the heartbeat interval sent to the worker, in seconds.
	Interval int64 `json:"b"`
	// Key is the id of the API key that registered it.
	Key string `json:"k,omitempty"`
}

func (i identity) incarnation() contract.Incarnation {
	return contract.Incarnation{ID: i.ID, Instance: i.Instance}
}

func (i identity) registration() contract.WorkerRegistration {
	return contract.WorkerRegistration{ID: i.ID, Instance: i.Instance, Host: i.Host, PID: i.PID, Version: i.Version}
}

// Worker is a registered worker process for the time of one call.
type Worker struct {
	g   *Gateway
	who identity
}

// Worker opens the token of a worker. The worker's calls check whether it is still registered.
func (g *Gateway) Worker(token string) (Worker, error) {
	w := Worker{g: g}
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || g.sealer.open(sealedWorker, text, &w.who) != nil {
		return Worker{}, badToken("token")
	}
	return w, nil
}

// ID returns the worker's id.
func (w Worker) ID() string { return w.who.ID }

// Key returns the id of the API key that registered the worker, or "".
func (w Worker) Key() string { return w.who.Key }

// Instance returns the instance of its process.
func (w Worker) Instance() string { return w.who.Instance }

// Ping is a worker's heartbeat.
type Ping struct {
	// Executing and Detecting are the slots in use.
	Executing int `json:"executing,omitempty"`
	Detecting int `json:"detecting,omitempty"`
	// Stopping means that it accepts no work, and pings until its jobs have ended.
	Stopping bool `json:"stopping,omitempty"`
	// CPU and Memory are the host's usage from 0 to 1; 0 means not measured.
	CPU    float32 `json:"cpu,omitempty"`
	Memory float32 `json:"memory,omitempty"`
}

// Ping records a heartbeat and returns the registry's settings. An unregistered worker gets CodeUnknownWorker unless
// it still runs something.
func (w Worker) Ping(ctx context.Context, in Ping) (Settings, error) {
	known, err := w.g.fleet.settings(ctx, w.who.incarnation())
	gone := !known.Known || known.Left && !in.Stopping && in.Executing+in.Detecting == 0
	if err == nil && gone {
		return Settings{}, unknownWorker(w.who.incarnation())
	}
	settings := settingsOf(known, w.who)
	beat := registry.Beat{
		Namespace: w.g.namespace, Worker: w.who.registration(), Started: time.Unix(w.who.Started, 0), Stopping: in.Stopping, CPU: in.CPU, Memory: in.Memory,
		Slots: &registry.Slots{Executing: in.Executing, MaxExecute: settings.MaxExecute, Detecting: in.Detecting, MaxDetect: settings.MaxDetect},
	}
	if err := beat.Send(ctx, w.g.service); err != nil {
		return Settings{}, unavailable("the server did not take the heartbeat", err)
	}
	return settings, nil
}

func (w Worker) registered(ctx context.Context) error {
	known, err := w.g.fleet.recent(ctx, w.who.incarnation())
	if err == nil && !known.Known {
		return unknownWorker(w.who.incarnation())
	}
	return nil
}

// held confirms a recent "held" with another query.
func (w Worker) held(ctx context.Context) bool {
	known, err := w.g.fleet.recent(ctx, w.who.incarnation())
	if err != nil || !known.Held {
		return false
	}
	known, err = w.g.fleet.settings(ctx, w.who.incarnation())
	return err != nil || !known.Known || known.Held
}

// Unregister makes the worker OFFLINE at once, and returns tasks still sent to it. The worker may finish its jobs,
// and pings until then.
func (w Worker) Unregister(ctx context.Context) error {
	if err := w.g.registry.Unregister(ctx, w.who.incarnation()); err != nil {
		return unavailable("the registry did not get the message", err)
	}
	w.linger(ctx)
	return nil
}

// Without StartedAt the outcome makes no statement about slots of other runs, which the gateway cannot see.
func (w Worker) state(instance string, took time.Duration) contract.ExecuteState {
	return contract.ExecuteState{Worker: w.who.ID, Instance: instance, DurationMS: max(took.Milliseconds(), 1)}
}

func beatEvery(timeout time.Duration) jobtype.Duration {
	const most = 5 * time.Second
	if timeout <= 0 {
		return jobtype.Duration(most)
	}
	return jobtype.Duration(min(most, timeout/3))
}
