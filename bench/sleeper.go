package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// sleeper has jobs of a given duration. With a book, each writes its start and worker into it.
type sleeper struct{}

type sleeperParams struct {
	N  int `json:"n"`
	MS int `json:"ms"`
	// Node pins all jobs to one worker.
	Node string `json:"node,omitempty"`
	Book string `json:"book,omitempty"`
}

// started is one line of the book.
type started struct {
	At     time.Time `json:"at"`
	Worker string    `json:"worker"`
	Key    string    `json:"key"`
}

func (sleeper) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "sleeper", Help: "Takes a given time."}
}

func (sleeper) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params sleeperParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	for i := range params.N {
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("%s/%06d", in.JobType, i), Summary: fmt.Sprintf("sleep %d", i), Node: params.Node}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (sleeper) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params sleeperParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if params.Book != "" {
		if err := enter(params.Book, started{time.Now(), job.WorkerID, job.DedupeKey}); err != nil {
			return jobtype.Result{}, err
		}
	}
	end := time.After(time.Duration(params.MS) * time.Millisecond)
	alive := time.NewTicker(time.Second)
	defer alive.Stop()
	for {
		select {
		case <-end:
			return jobtype.Result{}, nil
		case <-alive.C:
			progress.Alive()
		case <-ctx.Done():
			return jobtype.Result{}, context.Cause(ctx)
		}
	}
}

// enter appends one line with a single write, since several processes write.
func enter(book string, what started) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(book, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// awaitStart waits for the first line of the book for which is returns true.
func awaitStart(ctx context.Context, book string, is func(started) bool) (started, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		data, err := os.ReadFile(book)
		if err != nil && !os.IsNotExist(err) {
			return started{}, err
		}
		if found := findStart(data, is); found != nil {
			return *found, nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return started{}, fmt.Errorf("no job has started: %w", err)
		}
	}
}
