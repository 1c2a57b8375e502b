package weed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/filerpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

// notesKey is the key of the notes in the filers' key-value store.
const notesKey = "roundsman/moves"

// maxNoteAge is the age at which a note is dropped although its volume was not repaired.
const maxNoteAge = 30 * 24 * time.Hour

// Notes returns the unfinished moves that marked a writable source read-only, by volume.
func (c *Cluster) Notes(ctx context.Context) (notes map[uint32]plan.Note, err error) {
	if len(c.spec.Filers) == 0 {
		return nil, nil
	}
	err = c.onFiler(ctx, func(ctx context.Context, filer filerpb.SeaweedFilerClient) error {
		notes, err = readNotes(ctx, filer)
		return err
	})
	return notes, err
}

// PutNote writes a note. The caller holds the shell lease, so no other process changes the notes.
func (c *Cluster) PutNote(ctx context.Context, volume uint32, note plan.Note) error {
	return c.changeNotes(ctx, func(notes map[uint32]plan.Note) bool {
		maps.DeleteFunc(notes, func(_ uint32, old plan.Note) bool { return note.At.Sub(old.At) > maxNoteAge })
		notes[volume] = note
		return true
	})
}

// RemoveNote removes the note of a volume, under the shell lease as [Cluster.PutNote].
func (c *Cluster) RemoveNote(ctx context.Context, volume uint32) error {
	return c.changeNotes(ctx, func(notes map[uint32]plan.Note) bool {
		_, there := notes[volume]
		delete(notes, volume)
		return there
	})
}

func (c *Cluster) changeNotes(ctx context.Context, change func(map[uint32]plan.Note) (changed bool)) error {
	if len(c.spec.Filers) == 0 {
		return nil
	}
	c.notes.Lock()
	defer c.notes.Unlock()
	return c.onFiler(ctx, func(ctx context.Context, filer filerpb.SeaweedFilerClient) error {
		notes, err := readNotes(ctx, filer)
		if err != nil || !change(notes) {
			return err
		}
		var value []byte
		if len(notes) > 0 {
			if value, err = json.Marshal(notes); err != nil {
				return err
			}
		}
		answer, err := filer.KvPut(ctx, &filerpb.KvPutRequest{Key: []byte(notesKey), Value: value})
		if err == nil && answer.GetError() != "" {
			err = errors.New(answer.GetError())
		}
		return err
	})
}

func readNotes(ctx context.Context, filer filerpb.SeaweedFilerClient) (map[uint32]plan.Note, error) {
	answer, err := filer.KvGet(ctx, &filerpb.KvGetRequest{Key: []byte(notesKey)})
	if err == nil && answer.GetError() != "" {
		err = errors.New(answer.GetError())
	}
	if err != nil {
		return nil, err
	}
	notes := map[uint32]plan.Note{}
	if len(answer.GetValue()) > 0 {
		if err := json.Unmarshal(answer.GetValue(), &notes); err != nil {
			return nil, fmt.Errorf("the value of %s: %w", notesKey, err)
		}
	}
	return notes, nil
}

// onFiler calls the filers in turn until one answers. Filers of one cluster share a store.
func (c *Cluster) onFiler(ctx context.Context, do func(context.Context, filerpb.SeaweedFilerClient) error) error {
	var faults []error
	for _, address := range c.spec.Filers {
		conn, err := c.conn(address)
		if err == nil {
			callCtx, cancel := context.WithTimeout(ctx, filerTimeout/time.Duration(len(c.spec.Filers)))
			err = do(callCtx, filerpb.NewSeaweedFilerClient(conn))
			cancel()
		}
		if err == nil {
			return nil
		}
		faults = append(faults, fmt.Errorf("filer %s: %s", address, Reason(err)))
	}
	return errors.Join(faults...)
}
