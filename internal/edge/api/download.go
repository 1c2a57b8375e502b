package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/starter/joblogs"
)

type downloadInput struct {
	ItemPath
	Attempt int `query:"attempt" minimum:"0" doc:"0: the last one"`
}

// The worker sends the output in parts, so its length is not limited.
func (a *API) download(tag, item string) {
	o := Operation{
		ID: "download-item-output", Method: http.MethodGet, Path: item + "/output/text", Tag: tag, Summary: "Download the output of a job or task",
		Description: "A line in square brackets stands for missing output. 404: nothing is kept; the detail has the reason.",
		May:         viewItems, Reach: Named,
	}
	a.declare(o)
	described := a.operation(o)
	described.Responses = map[string]*huma.Response{"200": {
		Description: "The output so far", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(a.huma, described, func(ctx context.Context, in *downloadInput) (*huma.StreamResponse, error) {
		ctx, call, end, err := a.begin(ctx, o, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		defer end()
		first, err := joblogs.Read(ctx, call.Client, in.item(), in.Attempt, 0)
		if err != nil {
			return nil, a.failed(o, err)
		}
		if first.From == joblogs.FromNowhere {
			return nil, problem.New(http.StatusNotFound, problem.CodeNotFound, first.Note)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			patient(hc)
			hc.SetHeader("Content-Type", "text/plain; charset=utf-8")
			hc.SetHeader("X-Content-Type-Options", "nosniff")
			name := strings.NewReplacer("/", "-", `"`, "-", ":", "").Replace(in.item().ID)
			hc.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="%.100s-attempt-%d.log"`, name, first.Attempt))
			if err := writeOutput(ctx, call, in, first, hc.BodyWriter()); err != nil {
				call.Logf("the download of the output of %s has ended early: %v", in.item(), err)
			}
		}}, nil
	})
}

func writeOutput(ctx context.Context, call *Call, in *downloadInput, part joblogs.Part, to io.Writer) error {
	if part.From == joblogs.FromResult {
		_, err := fmt.Fprintf(to, "[only the end, from the result: %s]\n%s", part.Note, part.Text)
		return err
	}
	for offset := int64(0); part.Text != ""; {
		if part.Offset > offset {
			if _, err := fmt.Fprintf(to, "\n[%d bytes are not kept: output.max]\n", part.Offset-offset); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(to, part.Text); err != nil {
			return err
		}
		offset = part.Next
		var err error
		if part, err = joblogs.Read(ctx, call.Client, in.item(), part.Attempt, offset); err != nil {
			return err
		}
		if part.From != joblogs.FromWorker {
			_, err = fmt.Fprintf(to, "\n[the rest is missing: %s]\n", part.Note)
			return err
		}
	}
	return nil
}
