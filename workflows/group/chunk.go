package group

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/workflows/run"
)

// backlogKey is the claim on the backlog of a job type. No dedupe key has a NUL.
const backlogKey = "\x00backlog"

func backlogHash(jobType string) uint64 { return contract.DedupeHash(jobType, backlogKey) }

// backlogID differs for each claim of a turn, so that a late answer does not count.
func backlogID(turn, claim int) string {
	if claim <= 1 {
		return turnID(run.ChunkPrefix, turn)
	}
	return fmt.Sprintf("%s.again-%d", turnID(run.ChunkPrefix, turn), claim)
}

func chunkID(turn, seq int) string {
	return fmt.Sprintf("%s.chunk-%d", turnID(run.ChunkPrefix, turn), seq)
}

// chunkOf returns the number of a chunk from its id; 0 means the claim on the backlog.
func chunkOf(id string) (seq int, ok bool) {
	if !strings.HasPrefix(id, run.ChunkPrefix) {
		return 0, false
	}
	_, number, isChunk := strings.Cut(id, ".chunk-")
	if !isChunk {
		return 0, true
	}
	seq, err := strconv.Atoi(number)
	return seq, err == nil
}

func (r *groupRun) carryOutClaim(command source.Command) {
	link := r.loop.Admission
	switch c := command.(type) {
	case chunks.ClaimBacklog:
		link.RequestKeys(backlogID(c.Turn, c.Claim), []uint64{backlogHash(r.in.Spec.Name)})
	case chunks.LeaveBacklog:
		link.ReleaseKnown(backlogID(c.Turn, c.Claim))
	case chunks.ReadKeys:
		r.reading = &reading{seq: c.Seq, future: callReadKeys(r.ctx, contract.ReadKeysInput{
			Run: workflow.GetInfo(r.ctx).WorkflowExecution.ID, JobType: r.in.Spec.Name, Refs: c.Refs,
		})}
	case chunks.ClaimChunk:
		link.RequestKeys(chunkID(c.Turn, c.Seq), c.Hashes)
	case chunks.LeaveChunk:
		link.ReleaseKnown(chunkID(c.Turn, c.Seq))
	}
}

// takeChunk returns false for answers that do not concern a chunk or the backlog.
func (r *groupRun) takeChunk(answer run.Answer) bool {
	seq, ok := chunkOf(answer.ID)
	var event chunks.Event
	switch {
	case !ok || answer.Kind == run.Lost || answer.Kind == run.Renewed:
		return false
	case answer.Kind == run.Refused:
		event = chunks.Refused{Seq: seq, Code: contract.Code(answer.Code), Reason: answer.Reason}
	case seq > 0:
		event = chunkClaimed(seq, answer.Grant)
	case len(answer.Grant.Taken) == 0:
		event = chunks.BacklogClaimed{}
	default:
		r.loop.Admission.ReleaseKnown(answer.ID)
		event = backlogTaken(answer.Grant.Taken[0].By)
	}
	r.loop.Step(group.ChunkAnswered{Event: event})
	return true
}

func backlogTaken(by string) chunks.Event {
	if by == "" {
		return chunks.Refused{Code: contract.RefusedFull, Reason: "the backlog was taken by another run, which has ended"}
	}
	return chunks.BacklogClaimed{By: by}
}

func chunkClaimed(seq int, grant contract.AdmissionGrant) chunks.Claimed {
	event := chunks.Claimed{Seq: seq, Fence: grant.Fence, Fences: grant.Fences, Taken: map[int]string{}, HeldBack: map[int]chunks.Hold{}}
	for _, taken := range grant.Taken {
		for _, index := range taken.Indexes {
			event.Taken[index] = cmp.Or(taken.By, "another run")
		}
	}
	for _, one := range grant.HeldBack {
		event.HeldBack[one.Index] = chunks.Hold{Code: one.Code, Detail: one.String()}
	}
	return event
}

type reading struct {
	seq    int
	future workflow.Future
}

func (r *reading) ready() bool { return r != nil && r.future.IsReady() }

func (r *reading) event(ctx workflow.Context) source.Event {
	event := chunks.KeysRead{Seq: r.seq}
	var packed []byte
	err := r.future.Get(ctx, &packed)
	if err == nil {
		event.Hashes, err = admission.UnpackKeys(packed)
	}
	if err != nil {
		event.Reason = run.EndingOfError(err, "").Message
	}
	return group.ChunkAnswered{Event: event}
}

// The first claim of the whole group has the keys of all of them.
func heldKeys(jobType string, core *group.Group) run.Keys {
	asked := false
	return func(id string) []byte {
		seq, ok := chunkOf(id)
		switch {
		case ok && seq == 0:
			return admission.PackKeys([]uint64{backlogHash(jobType)})
		case ok:
			return admission.PackKeys(core.ChunkHashes(seq))
		case asked || !strings.HasPrefix(id, run.ClaimsPrefix):
			return nil
		}
		asked = true
		return admission.PackKeys(claimHashes(core.Claims(false)))
	}
}

func claimHashes(claims []group.Claim) []uint64 {
	hashes := make([]uint64, len(claims))
	for i, claim := range claims {
		hashes[i] = claim.Hash
	}
	return hashes
}

func packed(jobType string, keys []string, further []uint64) []byte {
	hashes := make([]uint64, len(keys), len(keys)+len(further))
	for i, key := range keys {
		hashes[i] = contract.DedupeHash(jobType, key)
	}
	return admission.PackKeys(append(hashes, further...))
}
