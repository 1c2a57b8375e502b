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

// download is a file that is sent while it is read.
type download struct {
	kind, name string
	// Size is 0 if it is not known.
	size  int64
	write func(to io.Writer) error
}

func addDownload[I any](a *API, o Operation, response *huma.Response, find func(ctx context.Context, call *Call, in *I) (download, error)) {
	o.Streams = true
	a.declare(o)
	described := a.operation(o)
	described.Responses = map[string]*huma.Response{"200": response}
	huma.Register(a.huma, described, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		ctx, call, end, err := a.begin(ctx, o, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		defer end()
		file, err := find(ctx, call, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", file.kind)
			hc.SetHeader("X-Content-Type-Options", "nosniff")
			hc.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, file.name))
			if file.size > 0 {
				hc.SetHeader("Content-Length", fmt.Sprint(file.size))
			}
			if err := file.write(hc.BodyWriter()); err != nil {
				call.Logf("the download of %s has ended early: %v", file.name, err)
				panic(http.ErrAbortHandler) // A client must not take a part for the whole.
			}
		}}, nil
	})
}

type downloadInput struct {
	ItemPath
	Attempt int `query:"attempt" minimum:"0" doc:"0: the last one"`
}

// The worker sends the output in parts, so its length is not limited.
func (a *API) download(tag, item string) {
	addDownload(a, Operation{
		ID: "download-item-output", Method: http.MethodGet, Path: item + "/output/text", Tag: tag, Summary: "Download the output of a job or task",
		Description: "A line in square brackets stands for missing output. 404: nothing is kept; the detail has the reason.",
		May:         viewItems, Reach: Named,
	}, &huma.Response{
		Description: "The output so far", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}, func(ctx context.Context, call *Call, in *downloadInput) (download, error) {
		first, err := joblogs.Read(ctx, call.Client, in.item(), in.Attempt, 0)
		if err != nil {
			return download{}, err
		}
		if first.From == joblogs.FromNowhere {
			return download{}, problem.New(http.StatusNotFound, problem.CodeNotFound, first.Note)
		}
		name := strings.NewReplacer("/", "-", `"`, "-", ":", "").Replace(in.item().ID)
		return download{kind: "text/plain; charset=utf-8", name: fmt.Sprintf("%.100s-attempt-%d.log", name, first.Attempt), write: func(to io.Writer) error {
			return writeOutput(to, first, func(offset int64) (joblogs.Part, error) {
				return joblogs.Read(ctx, call.Client, in.item(), first.Attempt, offset)
			})
		}}, nil
	})
}

func writeOutput(to io.Writer, part joblogs.Part, read func(offset int64) (joblogs.Part, error)) error {
	if part.From == joblogs.FromResult {
		_, err := fmt.Fprintf(to, "[only the end, from the result: %s]\n%s", part.Note, part.Text)
		return err
	}
	for offset := int64(0); part.Text != ""; {
		if part.Offset > offset {
			if _, err := fmt.Fprintf(to, "\n[%d bytes are not kept: output.max, or a full disk]\n", part.Offset-offset); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(to, part.Text); err != nil {
			return err
		}
		offset = part.Next
		var err error
		if part, err = read(offset); err != nil {
			part.Note = problem.From(err).Detail
		}
		if part.From != joblogs.FromWorker {
			_, err = fmt.Fprintf(to, "\n[the rest is missing: %s]\n", part.Note)
			return err
		}
	}
	return nil
}
