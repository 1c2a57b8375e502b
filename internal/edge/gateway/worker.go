package gateway

import (
	"context"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/jobtype"
)

// TokenPrefix tells a worker's token from the keys of people and programs.
const TokenPrefix = "rmw_"

// identity is what a worker's token says. Its names are short: it travels with every
// call.
type identity struct {
	ID         string `json:"i"`
	Instance   string `json:"n"`
	Host       string `json:"h"`
	PID        int    `json:"p"`
	Version    string `json:"v"`
	Started    int64  `json:"s"`
	MaxExecute int    `json:"e"`
	MaxDetect  int    `json:"d"`
	// Interval is the heartbeat interval that it was told, in seconds.
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

// Worker is a registered worker process, as one call of it knows it.
type Worker struct {
	g   *Gateway
	who identity
}

// Worker opens the token of a worker. That the registry still knows it is found out
// by its calls.
func (g *Gateway) Worker(token string) (Worker, error) {
	w := Worker{g: g}
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || g.sealer.open(sealedWorker, text, &w.who) != nil {
		return Worker{}, badToken("token")
	}
	return w, nil
}

// ID is the worker's.
func (w Worker) ID() string { return w.who.ID }

// Key is the id of the API key that registered it; empty: none did.
func (w Worker) Key() string { return w.who.Key }

// Instance is that of its process.
func (w Worker) Instance() string { return w.who.Instance }

// Ping is a worker's sign of life.
type Ping struct {
	// Executing and Detecting are how many of its slots are in use.
	Executing int `json:"executing,omitempty"`
	Detecting int `json:"detecting,omitempty"`
	// Stopping: it takes nothing new; it pings on until its jobs have ended.
	Stopping bool `json:"stopping,omitempty"`
	// CPU and Memory are the host's, from 0 to 1; 0: not measured.
	CPU    float32 `json:"cpu,omitempty"`
	Memory float32 `json:"memory,omitempty"`
}

// Ping records a heartbeat, which leaves no trace in any history, and returns the
// registry's settings. A registry that does not answer does not keep a worker from
// beating. A worker that has unregistered is unknown, unless it still runs something.
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

// registered returns CodeUnknownWorker if the registry does not know this process.
func (w Worker) registered(ctx context.Context) error {
	known, err := w.g.fleet.recent(ctx, w.who.incarnation())
	if err == nil && !known.Known {
		return unknownWorker(w.who.incarnation())
	}
	return nil
}

// held reports whether an operator keeps work from this worker. It trusts a recent
// answer only if that says no.
func (w Worker) held(ctx context.Context) bool {
	known, err := w.g.fleet.recent(ctx, w.who.incarnation())
	if err != nil || !known.Held {
		return false
	}
	known, err = w.g.fleet.settings(ctx, w.who.incarnation())
	return err != nil || !known.Known || known.Held
}

// Unregister makes the worker OFFLINE at once, as the end of a node worker does, and
// returns what is still sent to it. It takes about a second. Jobs that it runs it
// may still end; it pings until then. A repeat changes nothing.
func (w Worker) Unregister(ctx context.Context) error {
	if err := w.g.registry.Unregister(ctx, w.who.incarnation()); err != nil {
		return unavailable("the registry was not told", err)
	}
	w.linger(ctx)
	return nil
}

// state is what an outcome of this worker says of itself. Without StartedAt it says
// nothing about what other runs use here, which the gateway does not know.
func (w Worker) state(instance string, took time.Duration) contract.ExecuteState {
	return contract.ExecuteState{Worker: w.who.ID, Instance: instance, DurationMS: max(took.Milliseconds(), 1)}
}

// beatEvery is how often an attempt heartbeats at least.
func beatEvery(timeout time.Duration) jobtype.Duration {
	const most = 5 * time.Second
	if timeout <= 0 {
		return jobtype.Duration(most)
	}
	return jobtype.Duration(min(most, timeout/3))
}
