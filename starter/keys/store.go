package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

const (
	// ScheduleID is the Schedule that stores the keys.
	ScheduleID = "access/keys"
	// No process polls the queue: the action must never run.
	holderType, holderQueue = "roundsman.Keys", "roundsman/none"
	// attempts bounds the writes under contention.
	attempts = 8
	// mostBytes bounds the keys: the server refuses an argument above 2 MiB, also that of a revocation.
	mostBytes = 1 << 20
	// usedEvery is the precision of LastUsed.
	usedEvery = time.Hour
)

type record struct {
	Keys []stored `json:"keys"`
	// Sessions that were ended early.
	Ended []Session `json:"ended,omitempty"`
}

func (r *record) has(id string) bool {
	return slices.ContainsFunc(r.Keys, func(k stored) bool { return k.ID == id })
}

// add drops keys that are not valid to make room.
func (r *record) add(next stored) error {
	if len(r.Keys) >= Most || size(append(r.Keys, next)) > mostBytes {
		r.Keys = slices.DeleteFunc(r.Keys, func(k stored) bool { return !k.valid(next.CreatedAt) })
	}
	refused := &starter.RefusedError{Asked: "create key " + next.Name}
	if len(r.Keys) >= Most {
		refused.Reason = fmt.Sprintf("there are %d keys, which is the most: revoke some", Most)
		return refused
	}
	r.Keys = append(r.Keys, next)
	if bytes := size(r.Keys); bytes > mostBytes {
		refused.Reason = fmt.Sprintf("all keys would have %d bytes, the most are %d: name fewer job types, DAGs or handlers, or revoke some", bytes, mostBytes)
		return refused
	}
	return nil
}

// size is the number of bytes of keys as JSON.
func size(keys []stored) int {
	encoded, _ := json.Marshal(keys) //nolint:errchkjson // JSON had its times, or it is the time of now
	return len(encoded)
}

// Store reads and changes the keys of a namespace.
type Store struct{ client *starter.Client }

// New returns the store of the client's namespace.
func New(client *starter.Client) *Store { return &Store{client} }

// List lists all keys, oldest first.
func (s *Store) List(ctx context.Context) ([]Key, error) {
	held, _, err := s.read(ctx)
	return lists.Map(held.Keys, func(each stored) Key { return each.Key }), err
}

// Create creates a key and returns its secret, which cannot be read again.
func (s *Store) Create(ctx context.Context, wanted Key, by string) (Key, string, error) {
	if err := wanted.Validate(); err != nil {
		return Key{}, "", err
	}
	id, secret := newSecret()
	wanted.ID, wanted.CreatedAt, wanted.CreatedBy = id, time.Now().UTC(), by
	err := s.change(ctx, func(held *record) error { return held.add(stored{wanted, sumOf(secret)}) }, func(held record) bool { return held.has(id) })
	if err != nil {
		return Key{}, "", err
	}
	s.client.Audit().Record(ctx, contract.AuditEntry{Action: "key.create", Object: "key/" + id, After: wanted.Role, Detail: wanted.Name})
	return wanted, secret, nil
}

// Revoke revokes a key. It stays in the list.
func (s *Store) Revoke(ctx context.Context, id, by string) (Key, error) {
	var revoked Key
	revokedIn := func(held record) *stored {
		if at := slices.IndexFunc(held.Keys, func(k stored) bool { return k.ID == id }); at >= 0 {
			return &held.Keys[at]
		}
		return nil
	}
	err := s.change(ctx, func(held *record) error {
		key := revokedIn(*held)
		if key == nil {
			return &starter.NotFoundError{What: "key", Name: id, Hint: "see `roundsman keys`"}
		}
		if key.RevokedAt.IsZero() {
			key.RevokedAt, key.RevokedBy = time.Now().UTC(), by
		}
		revoked = key.Key
		return nil
	}, func(held record) bool { key := revokedIn(held); return key != nil && !key.RevokedAt.IsZero() })
	if err == nil {
		s.client.Audit().Record(ctx, contract.AuditEntry{Action: "key.revoke", Object: "key/" + id, Before: revoked.Role, Detail: revoked.Name})
	}
	return revoked, err
}

// UnseenError means that a write was sent, and that its effect is not known.
type UnseenError struct{ Err error }

func (e *UnseenError) Error() string {
	return "whether the keys have changed is not known, see `roundsman keys`: " + e.Err.Error()
}

func (e *UnseenError) Unwrap() error { return e.Err }

// Rotate replaces a valid key by one with the same name, rights and time to live, and revokes it. The secret cannot
// be read again. With an [UnseenError] the old key may be revoked.
func (s *Store) Rotate(ctx context.Context, id, by string) (Key, string, error) {
	next, secret := newSecret()
	var made Key
	err := s.change(ctx, func(held *record) (err error) {
		made, err = held.rotate(id, stored{Key{ID: next, CreatedBy: by, CreatedAt: time.Now().UTC()}, sumOf(secret)})
		return err
	}, func(held record) bool { return held.has(next) })
	if _, unseen := errors.AsType[*UnseenError](err); err != nil && !unseen {
		return Key{}, "", err
	}
	entry := contract.AuditEntry{Action: "key.rotate", Object: "key/" + id, After: "key/" + next, Detail: made.Name}
	if err != nil {
		entry.Detail += "; sent, but not confirmed: it may have had no effect"
	}
	s.client.Audit().Record(ctx, entry)
	return made, secret, err
}

// Keys that are not valid make room for the successor.
func (r *record) rotate(id string, next stored) (Key, error) {
	at, now := slices.IndexFunc(r.Keys, func(k stored) bool { return k.ID == id }), next.CreatedAt
	if at < 0 {
		return Key{}, &starter.NotFoundError{What: "key", Name: id, Hint: "see `roundsman keys`"}
	}
	if !r.Keys[at].valid(now) {
		return Key{}, &starter.RefusedError{Asked: "rotate key " + id, Reason: "it is revoked or expired: create another one"}
	}
	made := r.Keys[at].Key
	made.ID, made.CreatedAt, made.CreatedBy, made.LastUsed = next.ID, now, next.CreatedBy, time.Time{}
	if !made.ExpiresAt.IsZero() {
		made.ExpiresAt = now.Add(made.ExpiresAt.Sub(r.Keys[at].CreatedAt)).Truncate(time.Second)
	}
	r.Keys[at].RevokedAt, r.Keys[at].RevokedBy = now, next.CreatedBy
	if len(r.Keys) >= Most {
		r.Keys = slices.DeleteFunc(r.Keys, func(k stored) bool { return !k.valid(now) })
	}
	r.Keys = append(r.Keys, stored{made, next.Sum})
	return made, nil
}

func (s *Store) used(ctx context.Context, at map[string]time.Time) error {
	return s.change(ctx, func(held *record) error {
		for i, key := range held.Keys {
			if when, was := at[key.ID]; was && when.Sub(key.LastUsed) >= usedEvery {
				held.Keys[i].LastUsed = when.UTC().Truncate(time.Minute)
			}
		}
		return nil
	}, func(record) bool { return true })
}

// change repeats until the Schedule shows the edit: some servers refuse an old token, others ignore the write.
func (s *Store) change(ctx context.Context, edit func(*record) error, done func(record) bool) error {
	for range attempts {
		held, token, err := s.read(ctx)
		if err != nil {
			return err
		}
		if err := edit(&held); err != nil {
			return err
		}
		if err := s.write(ctx, held, token); err != nil {
			return err
		}
		after, _, err := s.read(ctx)
		if err != nil {
			return &UnseenError{err}
		}
		if done(after) {
			return nil
		}
	}
	return errors.New("the keys kept changing while they were written: try again")
}

// The token detects concurrent changes on a write; empty without a Schedule.
func (s *Store) read(ctx context.Context) (record, []byte, error) {
	var held record
	var described *workflowservice.DescribeScheduleResponse
	err := rpc.Retry(ctx, func(ctx context.Context) (err error) {
		described, err = s.client.Temporal().WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{
			Namespace: s.client.Namespace(), ScheduleId: ScheduleID,
		})
		return err //nolint:wrapcheck // wrapped below
	})
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return held, nil, nil
	}
	if err != nil {
		return held, nil, fmt.Errorf("read the keys: %w", err)
	}
	input := described.GetSchedule().GetAction().GetStartWorkflow().GetInput()
	if err := starter.DataConverter().FromPayloads(input, &held); err != nil {
		return held, nil, fmt.Errorf("read the keys: the Schedule %s is damaged: %w", ScheduleID, err)
	}
	return held, described.GetConflictToken(), nil
}

func (s *Store) write(ctx context.Context, held record, token []byte) error {
	slices.SortStableFunc(held.Keys, func(a, b stored) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	input, err := starter.DataConverter().ToPayloads(held)
	if err != nil {
		return fmt.Errorf("write the keys: %w", err)
	}
	service, schedule, request := s.client.Temporal().WorkflowService(), holder(input), rand.Text()
	err = rpc.Retry(ctx, func(ctx context.Context) error {
		if token == nil {
			_, err := service.CreateSchedule(ctx, &workflowservice.CreateScheduleRequest{
				Namespace: s.client.Namespace(), ScheduleId: ScheduleID, Schedule: schedule, Identity: s.client.Identity(), RequestId: request,
			})
			return err //nolint:wrapcheck // wrapped below
		}
		_, err := service.UpdateSchedule(ctx, &workflowservice.UpdateScheduleRequest{
			Namespace: s.client.Namespace(), ScheduleId: ScheduleID, Schedule: schedule, ConflictToken: token, Identity: s.client.Identity(), RequestId: request,
		})
		return err //nolint:wrapcheck // wrapped below
	})
	var (
		exists  *serviceerror.AlreadyExists
		started *serviceerror.WorkflowExecutionAlreadyStarted
		changed *serviceerror.FailedPrecondition
	)
	if errors.As(err, &exists) || errors.As(err, &started) || errors.As(err, &changed) {
		return nil // Another writer was faster, so the caller tries again.
	}
	switch rpc.Code(err) {
	case codes.OK:
		return nil
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.NotFound: // It was not carried out.
		return fmt.Errorf("write the keys: %w", err)
	default:
		return &UnseenError{fmt.Errorf("write the keys: %w", err)}
	}
}

// holder returns a paused Schedule that is never due.
func holder(input *commonpb.Payloads) *schedulepb.Schedule {
	return &schedulepb.Schedule{
		Spec:  &schedulepb.ScheduleSpec{},
		State: &schedulepb.ScheduleState{Paused: true, Notes: "holds the API keys (sums only); see `roundsman keys`"},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{
			WorkflowId: ScheduleID, WorkflowType: &commonpb.WorkflowType{Name: holderType},
			TaskQueue: &taskqueuepb.TaskQueue{Name: holderQueue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, Input: input,
			WorkflowExecutionTimeout: durationpb.New(time.Second),
		}}},
	}
}
