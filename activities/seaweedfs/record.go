package seaweedfs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

// shared is shared by the walks of one job: one checkpoint with an entry for each volume, and one progress.
type shared struct {
	progress jobtype.Progress
	items    int

	mu          sync.Mutex
	checkpoints map[uint32]json.RawMessage
	done        int
	summaries   []string
	data        map[string]any
}

func newShared(progress jobtype.Progress, job jobtype.Job, items int) *shared {
	s := &shared{progress: progress, items: items, checkpoints: map[uint32]json.RawMessage{}, data: map[string]any{}}
	// An unreadable checkpoint is ignored, because the state of the cluster decides.
	_ = json.Unmarshal(job.Checkpoint, &s.checkpoints)
	if s.checkpoints == nil {
		s.checkpoints = map[uint32]json.RawMessage{}
	}
	return s
}

func (s *shared) checkpoint(volume uint32) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkpoints[volume]
}

func (s *shared) keep(volume uint32, job steps.Job) error {
	encoded, err := json.Marshal(job)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoints[volume] = encoded
	return s.progress.Checkpoint(s.checkpoints)
}

func (s *shared) report(stage, message string) {
	s.mu.Lock()
	percent := 100 * float64(s.done) / float64(s.items)
	s.mu.Unlock()
	percent = cmp.Or(percent, -1)
	s.progress.Report(percent, stage, message)
}

func (s *shared) ended(volume uint32, end steps.End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if end.OK { // the next attempt of a failed one needs its checkpoint
		delete(s.checkpoints, volume)
		s.summaries = append(s.summaries, summary(volume, end))
		s.data[fmt.Sprint(volume)] = string(end.Code)
	}
}

func (s *shared) result() jobtype.Result {
	text := strings.Join(s.summaries, "; ")
	if s.items > 1 {
		text = fmt.Sprintf("%d volumes done", s.items)
	}
	return jobtype.Result{Summary: text, Data: map[string]any{"volumes": s.data}}
}
