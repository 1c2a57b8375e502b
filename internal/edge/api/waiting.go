package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

const (
	longestWait = time.Minute
	// Each look costs one or two queries, and visibility nothing.
	lookEvery = 500 * time.Millisecond
)

// Begun is an answer that names the run started or ended by the operation.
type Begun interface{ Begun() starter.RunRef }

type ending interface {
	// end waits for the end and returns the thing as its GET operation returns it.
	end(ctx context.Context, client *starter.Client) (any, error)
	ended() reflect.Type
}

func endingOf(body any) ending {
	switch is := body.(type) {
	case ending:
		return is
	case Begun:
		return endingRun{is.Begun()}
	}
	return nil
}

type endingRun struct{ ref starter.RunRef }

func (endingRun) ended() reflect.Type { return reflect.TypeFor[starter.Snapshot]() }

func (e endingRun) end(ctx context.Context, client *starter.Client) (any, error) {
	if e.ref.WorkflowID == "" {
		return nil, errors.New("it waits for another run")
	}
	return client.Runs().Await(ctx, e.ref)
}

// ItemEnding confirms a request to end an item.
type ItemEnding Requested

func (ItemEnding) ended() reflect.Type { return reflect.TypeFor[starter.ItemDetail]() }

func (e ItemEnding) end(ctx context.Context, client *starter.Client) (any, error) {
	return endOfItem(ctx, client, starter.ItemRef{Run: starter.RunRef{WorkflowID: e.WorkflowID}, ID: e.Item})
}

// ItemRetried lists the items that run again: the item and its dependants.
type ItemRetried struct {
	contract.DAGChanged
	ref starter.ItemRef
}

func (ItemRetried) ended() reflect.Type { return reflect.TypeFor[starter.ItemDetail]() }

func (e ItemRetried) end(ctx context.Context, client *starter.Client) (any, error) {
	return endOfItem(ctx, client, e.ref)
}

func endOfItem(ctx context.Context, client *starter.Client, ref starter.ItemRef) (any, error) {
	var item starter.Item
	err := lookUntil(ctx, func() (ended bool, err error) {
		item, err = client.Runs().Item(ctx, ref)
		return item.Ended(), err
	})
	if err != nil {
		return nil, err
	}
	return client.Runs().Detail(ctx, item)
}

// WorkerDraining is a draining worker.
type WorkerDraining struct{ contract.WorkerDetail }

func (WorkerDraining) ended() reflect.Type { return reflect.TypeFor[contract.WorkerDetail]() }

func (e WorkerDraining) end(ctx context.Context, client *starter.Client) (any, error) {
	watch := workerview.WatchDrain(client, e.Registration.ID)
	err := lookUntil(ctx, func() (over bool, err error) {
		drain, err := watch.Look(ctx)
		return drain.Over, err
	})
	if err != nil {
		return nil, err
	}
	return client.Workers().Get(ctx, e.Registration.ID)
}

// An error of the check may pass.
func lookUntil(ctx context.Context, is func() (bool, error)) error {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		done, err := is()
		if done && err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// waitWanted parses Prefer: wait=N, in seconds; 0 means no wait.
func waitWanted(header string) time.Duration {
	for part := range strings.FieldsFuncSeq(header, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if text, is := strings.CutPrefix(part, "wait="); is {
			if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
				return time.Duration(min(seconds, int(longestWait/time.Second))) * time.Second
			}
		}
	}
	return 0
}

func (c *Call) awaited(ctx context.Context, body any) (any, bool) {
	of := endingOf(body)
	if of == nil || c.wait == 0 {
		return nil, false
	}
	limited, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	c.SetHeader("Preference-Applied", "wait="+strconv.Itoa(int(c.wait/time.Second)))
	ended, err := of.end(limited, c.Client)
	if err != nil && limited.Err() == nil {
		c.Logf("waiting for its end: %v", err)
	}
	return ended, err == nil
}

// patient lets a request take longer than the server's read timeout.
func patient(ctx huma.Context) {
	_, w := humago.Unwrap(ctx)
	// A recorder has no deadline, and its request no timeout.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return
	}
}

func (c *catalog) describeWait(o Operation, described *huma.Operation, body reflect.Type) {
	of := endingOf(reflect.Zero(body).Interface())
	if !o.Writes() || of == nil {
		return
	}
	if o.Status != http.StatusAccepted {
		panic(fmt.Sprintf("operation %s: 200 means that it has ended: its own status must be 202", o.ID))
	}
	described.Parameters = append(described.Parameters, &huma.Param{
		Name: "Prefer", In: "header", Description: "wait=N: answer 200 with the ended thing if it ends within N seconds, at most 60",
		Schema: &huma.Schema{Type: huma.TypeString},
	})
	schemas := c.huma.OpenAPI().Components.Schemas
	described.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "It has ended while the caller waited",
		Content:     map[string]*huma.MediaType{guard.JSON: {Schema: schemas.Schema(of.ended(), true, "")}},
	}
}
