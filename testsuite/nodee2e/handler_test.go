package nodee2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// steps executes its jobs in steps of a given length, keeps a checkpoint after each, and records its work in a file that
// all processes share.
type steps struct {
	name string
	cap  int
}

type stepParams struct {
	// Book is the file, Jobs how many jobs are found.
	Book  string `json:"book"`
	Jobs  int    `json:"jobs"`
	Steps int    `json:"steps"`
	MS    int    `json:"ms"`
	// Go, if set, is a file without which no job takes its last step.
	Go string `json:"go"`
}

func (s steps) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: s.name, MaxExecuteConcurrency: s.cap}
}

func (s steps) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params stepParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	if err := write(params.Book, "detect", in.JobType, in.JobType, in.WorkerID, 0, 0); err != nil {
		return err
	}
	for i := range params.Jobs {
		if err := out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprintf("%s-%d", in.JobType, i)}); err != nil {
			return err
		}
	}
	return nil
}

func (s steps) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params stepParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	done := 0
	if len(job.Checkpoint) > 0 {
		if err := json.Unmarshal(job.Checkpoint, &done); err != nil {
			return jobtype.Result{}, err
		}
	}
	note := func(what string) error {
		return write(params.Book, what, job.JobType, job.DedupeKey, job.WorkerID, job.Attempt, done)
	}
	if err := note("start"); err != nil {
		return jobtype.Result{}, err
	}
	for ; done < params.Steps; done++ {
		if err := params.pause(ctx, done+1 == params.Steps, progress); err != nil {
			return jobtype.Result{}, fmt.Errorf("%w: %w", err, note("stop"))
		}
		if err := note("step"); err != nil {
			return jobtype.Result{}, err
		}
		progress.Report(100*float64(done+1)/float64(params.Steps), "step", "")
		if err := progress.Checkpoint(done + 1); err != nil {
			return jobtype.Result{}, err
		}
	}
	return jobtype.Result{Summary: "done"}, note("end")
}

// pause is the time before a step. Before the last one it is as long as the job is
// not let go.
func (p stepParams) pause(ctx context.Context, last bool, progress jobtype.Progress) error {
	for {
		select {
		case <-time.After(time.Duration(p.MS) * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !last || p.Go == "" {
			return nil
		}
		if _, err := os.Stat(p.Go); err == nil {
			return nil
		}
		progress.Alive()
	}
}

// write appends one line in one call, so that lines of several processes do not
// mix.
func write(book, what, jobType, key, worker string, attempt, done int) error {
	file, err := os.OpenFile(book, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d %s %s %s %s %d %d\n", time.Now().UnixNano(), what, jobType, key, worker, attempt, done)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// entry is one line of the book.
type entry struct {
	at                         time.Time
	what, jobType, key, worker string
	attempt, done              int
}

// book has the records of all handlers, in order of writing.
type book []entry

func readBook(path string) (book, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all book
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 7 {
			continue // A process was killed in the middle of a line.
		}
		numbers := make([]int, 7)
		for _, i := range []int{0, 5, 6} {
			if numbers[i], err = strconv.Atoi(fields[i]); err != nil {
				return nil, err
			}
		}
		all = append(all, entry{
			at: time.Unix(0, int64(numbers[0])), what: fields[1], jobType: fields[2], key: fields[3], worker: fields[4],
			attempt: numbers[5], done: numbers[6],
		})
	}
	return all, nil
}

// where keeps the entries that are so.
func (b book) where(is func(entry) bool) book {
	var kept book
	for _, e := range b {
		if is(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

func (b book) of(what string) book { return b.where(func(e entry) bool { return e.what == what }) }

func (b book) on(worker string) book {
	return b.where(func(e entry) bool { return e.worker == worker })
}

func (b book) typed(jobType string) book {
	return b.where(func(e entry) bool { return e.jobType == jobType })
}

// worst is how many of these jobs ran at once at most.
func (b book) worst() int {
	running, worst := 0, 0
	for _, e := range b {
		switch e.what {
		case "start":
			running++
			worst = max(worst, running)
		case "stop", "end":
			running--
		}
	}
	return worst
}

// perKey counts the entries of each job.
func (b book) perKey() map[string]int {
	counts := map[string]int{}
	for _, e := range b {
		counts[e.key]++
	}
	return counts
}
