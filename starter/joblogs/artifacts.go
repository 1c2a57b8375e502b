package joblogs

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// Artifacts are the files that an attempt at a job or task has left.
type Artifacts struct {
	Run       string              `json:"run"`
	Job       string              `json:"job"`
	Worker    string              `json:"worker,omitempty"`
	Attempt   int                 `json:"attempt,omitempty"`
	Artifacts []contract.Artifact `json:"artifacts"`
	// Note is the reason for an empty list.
	Note string `json:"note,omitempty"`

	ref starter.ItemRef
}

// ListArtifacts lists the artifacts of an attempt. Attempt 0 is the last one.
func ListArtifacts(ctx context.Context, client *starter.Client, ref starter.ItemRef, attempt int) (Artifacts, error) {
	item, err := client.Runs().Item(ctx, ref)
	if err != nil {
		return Artifacts{}, err
	}
	list := Artifacts{Run: ref.Run.WorkflowID, Job: ref.ID, Worker: item.Worker, Attempt: item.Attempt, Artifacts: []contract.Artifact{}, ref: ref}
	if attempt != 0 && attempt != item.Attempt {
		if list.Worker, err = workerOf(ctx, client, item, attempt); err != nil {
			return Artifacts{}, err
		}
		list.Attempt = attempt
	}
	if list.Worker == "" {
		list.Note = fmt.Sprintf("it is %s and has not run on a worker", item.State)
		return list, nil
	}
	answer, err := client.Workers().Artifact(ctx, list.Worker, list.query("", 0))
	if err != nil {
		return Artifacts{}, err
	}
	switch {
	case len(answer.Artifacts) > 0:
		list.Artifacts = answer.Artifacts
	case !answer.Files:
		list.Note = fmt.Sprintf("worker %s has no data directory: start it with --data-dir to keep artifacts", list.Worker)
	default:
		list.Note = fmt.Sprintf("worker %s keeps no artifacts of attempt %d: the job has no `artifacts`, the attempt has not ended by itself, or they were pruned (output.keep)", list.Worker, list.Attempt)
	}
	return list, nil
}

func (l Artifacts) query(name string, offset int64) contract.ArtifactQueryInput {
	return contract.ArtifactQueryInput{GroupID: l.ref.Run.WorkflowID, JobID: l.ref.ID, Attempt: l.Attempt, Name: name, Offset: offset}
}

// Find returns the named artifact if its content is kept.
func (l Artifacts) Find(name string) (contract.Artifact, error) {
	for _, one := range l.Artifacts {
		if one.Name == name && one.Error == "" {
			return one, nil
		}
		if one.Name == name {
			return one, &starter.NotFoundError{What: "artifact", Name: name + " of attempt " + strconv.Itoa(l.Attempt), Hint: one.Error}
		}
	}
	return contract.Artifact{}, &starter.NotFoundError{What: "artifact", Name: name + " of attempt " + strconv.Itoa(l.Attempt), Hint: "list them with `roundsman logs " + l.ref.String() + " --artifacts`"}
}

// Write writes the content of an artifact. An error after some bytes leaves an incomplete copy.
func (l Artifacts) Write(ctx context.Context, client *starter.Client, one contract.Artifact, to io.Writer) error {
	for offset := int64(0); offset < one.Size; {
		answer, err := client.Workers().Artifact(ctx, l.Worker, l.query(one.Name, offset))
		switch {
		case err != nil:
			return err
		case !answer.Known || len(answer.Data) == 0:
			return fmt.Errorf("artifact %s: worker %s has deleted it: %d of %d bytes were read", one.Name, l.Worker, offset, one.Size)
		}
		if _, err := to.Write(answer.Data); err != nil {
			return err
		}
		offset += int64(len(answer.Data))
	}
	return nil
}
