package joblogs

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const (
	// FromWorker means: the process that runs or ran the attempt.
	FromWorker = "worker"
	// FromResult means: the end of the output, kept in the job's result.
	FromResult = "result"
	// FromNowhere means: there was no output, or none is left.
	FromNowhere = "nowhere"
)

// Reasons why the worker has no output of an attempt.
const (
	// GoneSilent: the worker does not answer. GoneProcess: the process has ended and kept no files. GoneKept: the
	// files were deleted, or there was no output.
	GoneSilent  = "worker_silent"
	GoneProcess = "process_ended"
	GoneKept    = "not_kept"
	GoneNothing = "nothing_printed"
)

// Part is the output of an attempt from an offset.
type Part struct {
	Run     string `json:"run"`
	Job     string `json:"job"`
	State   string `json:"state"`
	Worker  string `json:"worker,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Bytes since the start of the attempt: of Text and of the next part.
	Offset int64  `json:"offset"`
	Next   int64  `json:"next"`
	Text   string `json:"text"`
	// Running is true if more output may follow, Ended if no other attempt will.
	Running bool   `json:"running,omitempty"`
	Ended   bool   `json:"ended,omitempty"`
	From    string `json:"from"`
	// Silent is the reason why the worker's process did not answer.
	Silent string `json:"silent,omitempty"`
	// Gone is the code of the reason why the worker has no output, Note its text.
	Gone string `json:"gone,omitempty"`
	Note string `json:"note,omitempty"`
}

// Read returns the output of an attempt, at most 256 KiB. A negative offset counts from the end. Attempt 0 is the last.
func Read(ctx context.Context, client *starter.Client, ref starter.ItemRef, attempt int, offset int64) (Part, error) {
	item, err := client.Runs().Item(ctx, ref)
	if err != nil {
		return Part{}, err
	}
	part := Part{Run: ref.Run.WorkflowID, Job: ref.ID, State: item.State, Worker: item.Worker, Attempt: item.Attempt, Ended: item.Ended(), From: FromNowhere}
	if attempt != 0 && attempt != item.Attempt {
		if part.Worker, err = workerOf(ctx, client, item, attempt); err != nil {
			return Part{}, err
		}
		part.Attempt = attempt
	}
	if part.Worker == "" {
		return part.noted(false), nil
	}
	answer, err := client.Workers().Log(ctx, part.Worker, contract.LogQueryInput{
		GroupID: item.Run.WorkflowID, JobID: ref.ID, Attempt: part.Attempt, Offset: offset,
	})
	silent, isSilent := errors.AsType[*starter.SilentWorkerError](err)
	switch {
	case isSilent:
		part.Silent, part.Gone = silent.Error(), GoneSilent
	case err != nil:
		return Part{}, err
	case answer.Known:
		part.Offset, part.Next, part.Text, part.Running, part.From = answer.Offset, answer.Next, answer.Text, answer.Running, FromWorker
		return part, nil
	}
	if err := part.withoutWorker(ctx, client, item, offset, answer); err != nil {
		return Part{}, err
	}
	return part.noted(answer.Files), nil
}

func workerOf(ctx context.Context, client *starter.Client, item starter.Item, number int) (string, error) {
	history, err := client.Runs().History(ctx, item)
	if err != nil {
		return "", err
	}
	for _, attempt := range history.Attempts {
		if attempt.Number == number {
			return attempt.Worker, nil
		}
	}
	return "", &starter.NotFoundError{What: "attempt", Name: strconv.Itoa(number) + " of " + item.ID, Hint: "see `roundsman show " + item.Ref().String() + "`"}
}

func (p *Part) withoutWorker(ctx context.Context, client *starter.Client, item starter.Item, offset int64, answer contract.LogQueryResult) error {
	history, err := client.Runs().History(ctx, item)
	if err != nil {
		return err
	}
	last := p.Attempt == item.Attempt
	if p.Ended && last && history.Result != nil && history.Result.Output != "" {
		p.fromResult(history.Result.Output, offset)
	}
	var started time.Time
	for _, attempt := range history.Attempts {
		if attempt.Number == p.Attempt {
			started = attempt.StartedAt
		}
	}
	p.Gone = p.gone(answer, started, last)
	return nil
}

func (p *Part) gone(answer contract.LogQueryResult, started time.Time, last bool) string {
	switch {
	case p.Gone != "":
		return p.Gone
	case !started.IsZero() && started.Before(answer.Since) && (!answer.Files || p.From == FromNowhere && !p.Ended):
		return GoneProcess
	case p.From == FromResult, !last:
		return GoneKept
	case p.Ended:
		return GoneNothing
	}
	return ""
}

// A result has the end of a long output, whose other bytes are not counted: all of it follows a positive offset.
func (p *Part) fromResult(output string, offset int64) {
	size := int64(len(output))
	if offset > 0 && size > jobtype.MaxOutputBytes-utf8.UTFMax {
		offset = 0
	}
	if offset < 0 {
		offset = max(0, size+offset)
	}
	offset = min(offset, size)
	for offset < size && !utf8.RuneStart(output[offset]) {
		offset++
	}
	p.Offset, p.Next, p.Text, p.From = offset, size, output[offset:], FromResult
}
