package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// keyed opens a group with n jobs of a page, all with keys. It returns the commands.
func keyed(t *testing.T, n, window int) (*script, []source.Command) {
	t.Helper()
	s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: seconds(1_000_000)}), Window: window, Claims: true}, node("a", 8))
	s.begin()
	page := Page{Attempt: 1, Paged: pageOf("p", n, contract.JobClass{Keyed: true})}
	require.NoError(t, s.g.CheckPage(page))
	s.g.TakePage(s.now, page)
	return s, s.step(DetectionEnded{Attempt: 1, Pages: 1, Emitted: n})
}

// only returns the command of a kind, and requires that there is one.
func only[C any](t *testing.T, commands []source.Command) (found C) {
	t.Helper()
	n := 0
	for _, c := range commands {
		if of, ok := c.(C); ok {
			found, n = of, n+1
		}
	}
	require.Equal(t, 1, n, "%T in %+v", found, commands)
	return found
}

func none[C any](t *testing.T, commands []source.Command) {
	t.Helper()
	for _, c := range commands {
		_, is := c.(C)
		require.False(t, is, "%+v", c)
	}
}

func (s *script) answered(event chunks.Event) []source.Command { return s.step(ChunkAnswered{event}) }

// TestAChunkExplainsItsWait, and is tried again: keys that were not read, and an admission that is full.
func TestAChunkExplainsItsWait(t *testing.T) {
	t.Parallel()
	s, commands := keyed(t, 4, 4)
	wait := func() contract.WaitReason {
		waits := s.g.Waits(s.now)
		require.Len(t, waits, 1)
		assert.Equal(t, string(contract.CodeClaims), waits[0].Code)
		assert.Equal(t, 4, waits[0].Items)
		assert.Equal(t, waits[0].Detail, s.g.MainWait(s.now).Detail)
		for _, view := range s.jobs() {
			require.NotNil(t, view.Wait)
			assert.Equal(t, waits[0].Detail, view.Wait.Detail)
		}
		return waits[0]
	}
	reads := only[chunks.ReadKeys](t, commands)
	assert.Equal(t, []contract.ProposalRun{{Page: "p", Position: 0, Count: 4}}, reads.Refs)
	assert.Equal(t, explain.TextClaiming, wait().Detail)

	none[chunks.ReadKeys](t, s.answered(chunks.KeysRead{Seq: 1}))
	assert.Equal(t, explain.TextKeysUnread(""), wait().Detail)
	assert.Equal(t, s.now.Add(5*time.Second), wait().Until)
	assert.Equal(t, s.now.Add(5*time.Second), s.g.NextWake())
	only[chunks.ReadKeys](t, s.wait(5*time.Second))
	assert.Equal(t, explain.TextKeysUnread(""), wait().Detail, "until there is an answer")
	assert.Zero(t, wait().Until)

	claim := only[chunks.ClaimChunk](t, s.answered(chunks.KeysRead{Seq: 1, Hashes: []uint64{11, 12, 13, 14}}))
	assert.Equal(t, []uint64{11, 12, 13, 14}, claim.Hashes)
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second} {
		none[chunks.ClaimChunk](t, s.answered(chunks.Refused{Seq: 1, Code: contract.RefusedFull, Reason: "it is full"}))
		assert.Equal(t, "it is full", wait().Detail)
		assert.Equal(t, claim, only[chunks.ClaimChunk](t, s.wait(pause)))
	}
	s.answered(chunks.Claimed{Seq: 1, Fence: 1, Fences: 100})
	assert.Empty(t, s.g.Waits(s.now))
	assert.Equal(t, 4, s.g.Counts().Accepted)
}

// TestACanceledJobKeepsTheChunkOfTheOthers: a job is canceled during the claim of its key. The last job of the chunk
// releases the chunk.
func TestACanceledJobKeepsTheChunkOfTheOthers(t *testing.T) {
	t.Parallel()
	s, _ := keyed(t, 5, 6)
	s.answered(chunks.KeysRead{Seq: 1, Hashes: []uint64{11, 12, 13, 14, 15}})
	s.step(source.CancelItem{Item: 1, Reason: "not now"})
	s.step(source.CancelItem{Item: 4, Force: true})
	s.step(source.CancelItem{Item: 5, Force: true})
	assert.Equal(t, contract.JobExpired, s.job(4).State, "before the answer")
	none[chunks.LeaveChunk](t, s.answered(chunks.Claimed{Seq: 1, Fence: 1, Fences: 100, Taken: map[int]string{4: "group/other"}}))
	assert.Equal(t, contract.JobCanceled, s.job(1).State)
	assert.Equal(t, contract.JobExpired, s.job(4).State)
	assert.Equal(t, contract.JobExpired, s.job(5).State, "another run has its key")
	assert.Equal(t, []uint64{12, 13}, s.g.ChunkHashes(1))
	none[chunks.LeaveChunk](t, s.end(2, FailureNone))
	assert.Equal(t, chunks.LeaveChunk{Turn: s.g.turn.Number, Seq: 1}, only[chunks.LeaveChunk](t, s.end(3, FailureNone)))
	assert.Equal(t, contract.GroupCounts{Detected: 5, Accepted: 5, Completed: 2, Canceled: 1, Expired: 2}, s.g.Counts())
}

// TestAJobOfALostPageFails, for it would begin without a claim. Duplicates, and keys that others have, do not begin.
func TestAJobOfALostPageFails(t *testing.T) {
	t.Parallel()
	s, _ := keyed(t, 6, 8)
	commands := s.answered(chunks.KeysRead{Seq: 1, Hashes: []uint64{11, 0, 11, 12, 13, 14}})
	none[StartJob](t, commands)
	assert.Equal(t, contract.JobFailed, s.job(2).State)
	assert.Equal(t, explain.TextPageLost, s.job(2).Error)
	assert.Equal(t, []uint64{11, 12, 13, 14}, only[chunks.ClaimChunk](t, commands).Hashes)
	assert.Equal(t, contract.JobNotStarted, s.job(3).State)
	commands = s.answered(chunks.Claimed{
		Seq: 1, Fence: 1, Fences: 100, Taken: map[int]string{1: "group/other"},
		HeldBack: map[int]chunks.Hold{2: {Code: contract.HoldRetryBudget, Detail: "disabled"}},
	})
	none[chunks.LeaveChunk](t, commands)
	assert.Contains(t, s.job(4).Error, "group/other")
	assert.Contains(t, s.job(5).Error, explain.TextKeyHeld+"disabled")
	assert.Equal(t, contract.GroupCounts{Detected: 6, Accepted: 3, Failed: 1, Duplicates: 1, AlreadyActive: 1, Disabled: 1, HeldBack: 1}, s.g.Counts())
	assert.Equal(t, []uint64{11, 14}, s.g.ChunkHashes(1))
	assert.Equal(t, []string{"1 DEDUPED", "1 RETRY_BUDGET"}, s.counted())
}

// counted lists the codes of the notes that count jobs.
func (s *script) counted() (list []string) {
	for _, note := range s.g.engine.Notes() {
		if note.Count > 0 {
			list = append(list, string(rune('0'+note.Count))+" "+string(note.Code))
		}
	}
	return list
}

// TestABudgetPerKeyKeepsTheKeysInTheGroup: a failure needs the name of the key. So do batches, and a detection on every worker.
func TestABudgetPerKeyKeepsTheKeysInTheGroup(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 40, Config{Window: 40}.keyedInGroup())
	assert.Equal(t, 2_000, Config{Budget: true}.keyedInGroup())
	for _, cfg := range []Config{{NamesKeys: true}, {BatchSize: 2}, {DetectEvery: true}, {DryRun: true}} {
		assert.Zero(t, cfg.keyedInGroup(), "%+v", cfg)
	}
}
