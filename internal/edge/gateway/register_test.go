package gateway

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

var accepted = contract.RegisterWorkerResult{Accepted: true, Settings: &contract.WorkerSettings{Known: true}}

func asking() Registration {
	return Registration{ID: "press", Instance: "i1", Host: "vm", PID: 7, Version: "v1", Capabilities: []contract.Capability{{Handler: "command"}}, Key: "k1"}
}

// The token is valid at every gateway, and has all that a ping needs while the registry is silent.
func TestARegisteredWorkerHasAToken(t *testing.T) {
	t.Parallel()
	settings := &contract.WorkerSettings{
		Known: true, Held: true, Resized: &contract.WorkerCaps{MaxExecute: 9, MaxDetect: 8},
		Fleet: &contract.FleetConfig{HeartbeatInterval: jobtype.Duration(3 * time.Second), UnreachableAfter: jobtype.Duration(time.Minute)},
	}
	f := &far{register: []contract.RegisterWorkerResult{{Accepted: true, Settings: settings}}}
	in := asking()
	none, two := 0, 2
	in.MaxDetect, in.MaxExecute, in.Labels, in.JobTypes = &none, &two, map[string]string{"site": "a"}, []string{"nightly"}
	got, err := near(t, f).Register(t.Context(), in)
	require.NoError(t, err)
	want := Settings{
		HeartbeatInterval: jobtype.Duration(3 * time.Second), UnreachableAfter: jobtype.Duration(time.Minute), OfflineAfter: jobtype.Duration(3 * time.Minute),
		MaxExecute: 9, MaxDetect: 8, Held: true,
	}
	assert.Equal(t, want, got.Settings)
	assert.Equal(t, []any{"press", "i1", jobtype.Duration(5 * time.Second)}, []any{got.ID, got.Instance, got.ReconnectDelay})

	require.Len(t, f.registrations, 1)
	sent := f.registrations[0]
	assert.True(t, sent.Remote)
	assert.False(t, sent.TakeOver)
	assert.Equal(t, []int{0, 2}, []int{sent.MaxDetect, sent.MaxExecute}, "0 slots are not the default")
	assert.Equal(t, []any{in.Labels, in.JobTypes}, []any{sent.Labels, sent.JobTypes})
	assert.Equal(t, []bool{true, true}, []bool{sent.Capabilities[0].Detect, sent.Capabilities[0].Execute})
	assert.Equal(t, "command", sent.Capabilities[0].Descriptor.Name)
	assert.Nil(t, in.Capabilities[0].Descriptor, "the caller's request stays as it is")

	require.True(t, strings.HasPrefix(got.Token, "rmw_"))
	w, err := near(t, &far{}).Worker(got.Token)
	require.NoError(t, err)
	assert.Equal(t, []string{"press", "i1", "k1"}, []string{w.ID(), w.Instance(), w.Key()})
	assert.Equal(t, []any{"vm", 7, "v1", 2, 0, int64(3)}, []any{w.who.Host, w.who.PID, w.who.Version, w.who.MaxExecute, w.who.MaxDetect, w.who.Interval})
	assert.WithinRange(t, time.Unix(w.who.Started, 0), time.Now().Add(-time.Minute), time.Now())
}

func TestDefaultsOfARegistration(t *testing.T) {
	t.Parallel()
	f := &far{register: []contract.RegisterWorkerResult{{Accepted: true}}}
	g := near(t, f)
	for range 2 {
		got, err := g.Register(t.Context(), Registration{Capabilities: []contract.Capability{{Handler: "a", Detect: true}, {Descriptor: &jobtype.Descriptor{Name: "b", ExecuteOnly: true}}}})
		require.NoError(t, err)
		require.NoError(t, jobtype.ValidateName(got.ID))
		assert.Equal(t, []int{1, 1}, []int{got.MaxExecute, got.MaxDetect})
		assert.Equal(t, contract.FleetConfig{}.WithDefaults().HeartbeatInterval, got.HeartbeatInterval)
	}
	one, other := f.registrations[0], f.registrations[1]
	assert.NotEqual(t, one.ID, other.ID)
	assert.NotEqual(t, one.Instance, other.Instance)
	assert.Equal(t, "unknown", one.Host)
	assert.True(t, one.Capabilities[0].Descriptor.DetectOnly)
	assert.Equal(t, []any{"b", false, true}, []any{one.Capabilities[1].Handler, one.Capabilities[1].Detect, one.Capabilities[1].Execute})
}

// Nothing is sent, and the client corrects all faults at once.
func TestFaultsOfARegistration(t *testing.T) {
	t.Parallel()
	f := &far{register: []contract.RegisterWorkerResult{accepted}}
	in := Registration{ID: "Not A Name", Capabilities: []contract.Capability{
		{Handler: "good"}, {Handler: "a", Descriptor: &jobtype.Descriptor{Name: "b"}}, {Handler: "No Name"}, {},
	}}
	_, err := near(t, f).Register(t.Context(), in)
	refused := requireCode(t, CodeInvalid, err)
	for _, want := range []string{"id: ", `capabilities[1]: handler "a" and its descriptor's name "b" differ`, "capabilities[2]: ", "capabilities[3]: "} {
		assert.Contains(t, refused.Message, want)
	}
	assert.NotContains(t, refused.Message, "capabilities[0]")
	_, err = near(t, f).Register(t.Context(), Registration{ID: "press"})
	assert.Contains(t, requireCode(t, CodeInvalid, err).Message, "capabilities: a worker without handlers")
	assert.Empty(t, f.registrations)
}

func TestAnswersToARegistration(t *testing.T) {
	t.Parallel()
	taken := contract.RegisterWorkerResult{Refused: &contract.RegisteredOther{Host: "other", PID: 8, Instance: "i0", SinceBeat: jobtype.Duration(4 * time.Second)}}
	for name, row := range map[string]struct {
		fault   error
		verdict contract.RegisterWorkerResult
		want    Code
	}{
		"accepted":             {nil, accepted, ""},
		"taken":                {nil, taken, CodeIDInUse},
		"taken by nobody":      {nil, contract.RegisterWorkerResult{}, CodeIDInUse},
		"refused":              {temporal.NewNonRetryableApplicationError("too many labels", "INVALID", nil), accepted, CodeInvalid},
		"no right":             {serviceerror.NewPermissionDenied("no", ""), accepted, CodeInvalid},
		"no server":            {serviceerror.NewUnavailable("no"), accepted, CodeUnavailable},
		"the caller has ended": {context.Canceled, accepted, CodeUnavailable},
	} {
		f := &far{faults: faults{registry: row.fault}, register: []contract.RegisterWorkerResult{row.verdict}}
		got, err := near(t, f).Register(t.Context(), asking())
		refused := requireCode(t, row.want, err, name)
		assert.Equal(t, row.want == "", got.Token != "", name)
		if row.fault != nil {
			require.ErrorIs(t, err, row.fault, name)
		}
		if name == "taken" {
			assert.Equal(t, taken.Refused, refused.Holder)
			assert.Equal(t, 11*time.Second, refused.RetryAfter, "until three intervals of 5 s without a heartbeat are over")
		}
	}
}

// Only a process with the token of a killed one replaces it at once.
func TestAProcessReplacesItsPredecessor(t *testing.T) {
	t.Parallel()
	before := func(id, instance string, with []byte) string {
		s, err := newSealer(with)
		require.NoError(t, err)
		token, err := s.seal(sealedWorker, identity{ID: id, Instance: instance})
		require.NoError(t, err)
		return TokenPrefix + token
	}
	taken := contract.RegisterWorkerResult{Refused: &contract.RegisteredOther{Instance: "i0"}}
	for name, row := range map[string]struct {
		previous string
		replaces bool
	}{
		"its own":                {before("press", "i0", secret), true},
		"of an earlier process":  {before("press", "i-1", secret), false},
		"of another worker":      {before("mill", "i0", secret), false},
		"of another namespace":   {before("press", "i0", bytes.Repeat([]byte{8}, MinSecret)), false},
		"none":                   {"", false},
		"not a token":            {"rmw_", false},
		"a token without prefix": {strings.TrimPrefix(before("press", "i0", secret), TokenPrefix), false},
	} {
		f := &far{register: []contract.RegisterWorkerResult{taken, accepted}}
		in := asking()
		in.Previous = row.previous
		_, err := near(t, f).Register(t.Context(), in)
		if !row.replaces {
			_ = requireCode(t, CodeIDInUse, err, name)
			assert.Len(t, f.registrations, 1, name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, f.registrations, 2, name)
		assert.Equal(t, []bool{false, true}, []bool{f.registrations[0].TakeOver, f.registrations[1].TakeOver})
		assert.Equal(t, f.registrations[0].Instance, f.registrations[1].Instance)
	}
	// A third process that was faster keeps the id.
	f := &far{register: []contract.RegisterWorkerResult{taken}}
	in := asking()
	in.Previous = before("press", "i0", secret)
	_, err := near(t, f).Register(t.Context(), in)
	_ = requireCode(t, CodeIDInUse, err)
	assert.Len(t, f.registrations, 2)
}

// A holder whose heartbeat is stale frees the id at once; a client must not try without a pause.
func TestWhenAnIDMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	for since, want := range map[time.Duration]time.Duration{0: 15 * time.Second, 14500 * time.Millisecond: time.Second, time.Hour: time.Second} {
		assert.Equal(t, want, inUse("press", contract.RegisterWorkerResult{Refused: &contract.RegisteredOther{SinceBeat: jobtype.Duration(since)}}).RetryAfter)
	}
	assert.Zero(t, inUse("press", contract.RegisterWorkerResult{}).RetryAfter)
}

func TestAGatewayNeedsItsParts(t *testing.T) {
	t.Parallel()
	good := Options{Client: &far{}, Namespace: "press", Converter: near(t, &far{}).converter, Secret: secret}
	for name, change := range map[string]func(*Options){
		"client":    func(o *Options) { o.Client = nil },
		"namespace": func(o *Options) { o.Namespace = "" },
		"converter": func(o *Options) { o.Converter = nil },
		"secret":    func(o *Options) { o.Secret = secret[1:] },
	} {
		o := good
		change(&o)
		_, err := New(o)
		require.ErrorContains(t, err, name)
	}
}

// namespace has schedules.
type namespace struct {
	client.Client

	schedules *schedules
}

func (n namespace) ScheduleClient() client.ScheduleClient { return n.schedules }

// schedules has one Schedule at most.
type schedules struct {
	client.ScheduleClient
	client.ScheduleHandle

	memo *commonpb.Memo
	// rival creates the Schedule just before this process.
	rival   []byte
	fault   error
	created []client.ScheduleOptions
}

func (s *schedules) GetHandle(context.Context, string) client.ScheduleHandle { return s }

func (s *schedules) Describe(context.Context) (*client.ScheduleDescription, error) {
	if s.memo == nil {
		return nil, serviceerror.NewNotFound("no such schedule")
	}
	return &client.ScheduleDescription{Memo: s.memo}, nil
}

func (s *schedules) Create(_ context.Context, options client.ScheduleOptions) (client.ScheduleHandle, error) {
	s.created = append(s.created, options)
	kept, _ := options.Memo[secretMemo].([]byte)
	if s.rival != nil {
		kept, s.fault = s.rival, temporal.ErrScheduleAlreadyRunning
	}
	if s.fault == nil || s.rival != nil {
		s.memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{secretMemo: payloads(kept).GetPayloads()[0]}}
	}
	return s, s.fault
}

// All gateways of a namespace get one secret, even if they start at the same moment.
func TestTheSecretOfANamespace(t *testing.T) {
	t.Parallel()
	s := &schedules{}
	first, err := SharedSecret(t.Context(), namespace{schedules: s})
	require.NoError(t, err)
	assert.Len(t, first, MinSecret)
	assert.NotEqual(t, make([]byte, MinSecret), first)
	again, err := SharedSecret(t.Context(), namespace{schedules: s})
	require.NoError(t, err)
	assert.Equal(t, first, again)
	require.Len(t, s.created, 1)
	assert.True(t, s.created[0].Paused, "it must never start anything")

	raced, err := SharedSecret(t.Context(), namespace{schedules: &schedules{rival: secret}})
	require.NoError(t, err)
	assert.Equal(t, secret, raced)

	_, err = SharedSecret(t.Context(), namespace{schedules: &schedules{fault: errors.New("no right")}})
	require.ErrorContains(t, err, "keep the gateways' secret: no right")
	for name, kept := range map[string]any{"short": secret[1:], "a text": "text", "a number": 7} {
		broken := &schedules{memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{secretMemo: payloads(kept).GetPayloads()[0]}}}
		_, err = SharedSecret(t.Context(), namespace{schedules: broken})
		require.ErrorContains(t, err, "delete it, and restart the gateways", name)
		assert.Empty(t, broken.created)
	}
	_, err = SharedSecret(t.Context(), namespace{schedules: &schedules{memo: &commonpb.Memo{}}})
	require.ErrorContains(t, err, "keeps no secret")
}

func TestOnlyTokensOfTheNamespaceAreOpened(t *testing.T) {
	t.Parallel()
	g := near(t, &far{})
	lease, err := g.sealer.seal(sealedLease, press)
	require.NoError(t, err)
	own, err := g.sealer.seal(sealedWorker, press)
	require.NoError(t, err)
	for _, token := range []string{"", "rmw_", "rmw_!", TokenPrefix + lease, own, TokenPrefix + own + "A"} {
		_, err := g.Worker(token)
		_ = requireCode(t, CodeBadToken, err, token)
	}
}

// An unknown worker registers again. A leaving one pings until its work has ended.
func TestWhoMayPing(t *testing.T) {
	t.Parallel()
	known, left := contract.WorkerSettings{Known: true}, contract.WorkerSettings{Known: true, Left: true}
	for name, row := range map[string]struct {
		standing contract.WorkerSettings
		in       Ping
		want     Code
	}{
		"known":                {known, Ping{}, ""},
		"unknown":              {contract.WorkerSettings{}, Ping{}, CodeUnknownWorker},
		"unknown and busy":     {contract.WorkerSettings{}, Ping{Executing: 1, Stopping: true}, CodeUnknownWorker},
		"left":                 {left, Ping{}, CodeUnknownWorker},
		"left, runs a job":     {left, Ping{Executing: 1}, ""},
		"left, detects":        {left, Ping{Detecting: 1}, ""},
		"left, stops":          {left, Ping{Stopping: true}, ""},
		"held by its operator": {contract.WorkerSettings{Known: true, Held: true}, Ping{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, w := registered(t)
				f.known[press.incarnation()] = row.standing
				got, err := w.Ping(t.Context(), row.in)
				_ = requireCode(t, row.want, err)
				if row.want != "" {
					assert.Empty(t, f.service.beats)
					return
				}
				assert.Equal(t, row.standing.Held, got.Held)
				require.Len(t, f.service.beats, 1)
				assert.Equal(t, "press@vm:7", f.service.beats[0].GetIdentity())
			})
		})
	}
}

// A worker stays online without its registry, with the caps and the interval of its token.
func TestAPingWithoutTheRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		f.faults.registry = errors.New("silent")
		got, err := w.Ping(t.Context(), Ping{Executing: 1, Detecting: 1, CPU: 0.5, Memory: 0.25})
		require.NoError(t, err)
		assert.Equal(t, []any{jobtype.Duration(3 * time.Second), 2, 1, false}, []any{got.HeartbeatInterval, got.MaxExecute, got.MaxDetect, got.Held})
		require.Len(t, f.service.beats, 1)
		sent := f.service.beats[0].GetWorkerHeartbeat()
		require.Len(t, sent, 2)
		execute := sent[1].GetActivityTaskSlotsInfo()
		assert.Equal(t, []int32{1, 1}, []int32{execute.GetCurrentUsedSlots(), execute.GetCurrentAvailableSlots()})
		assert.Equal(t, time.Unix(press.Started, 0).UTC(), sent[0].GetStartTime().AsTime())

		f.service.fault = serviceerror.NewUnavailable("no")
		_, err = w.Ping(t.Context(), Ping{})
		_ = requireCode(t, CodeUnavailable, err)
	})
}

// A job that was sent to a leaving worker is returned, and goes elsewhere at once.
func TestAWorkerUnregisters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		f.service.tasks = append(f.service.tasks, task("t1", contract.ExecuteInput{}, 0))
		require.NoError(t, w.Unregister(t.Context()))
		assert.Equal(t, []any{press.incarnation()}, f.signals)
		require.Len(t, f.ends, 1)
		assert.Equal(t, contract.FailureDraining, f.ends[0].state(t).Failure)

		f.faults.signal = serviceerror.NewUnavailable("no")
		polls := len(f.service.polls)
		_ = requireCode(t, CodeUnavailable, w.Unregister(t.Context()))
		assert.Len(t, f.service.polls, polls, "the worker may still want its tasks")
	})
}
