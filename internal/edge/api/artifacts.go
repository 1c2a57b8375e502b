package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/starter/joblogs"
)

type artifactInput struct {
	ItemPath
	Attempt int    `query:"attempt" minimum:"0" doc:"0: the last one"`
	Name    string `query:"name" required:"true" maxLength:"4096" doc:"As in the list"`
}

func (a *API) artifact(tag, item string) {
	o := Operation{
		ID: "download-item-artifact", Method: http.MethodGet, Path: item + "/artifacts/content", Tag: tag, Summary: "Download a file that a job or task has left",
		Description: "404: it is not kept; the detail has the reason. An answer that ends before Content-Length is incomplete.",
		May:         viewItems, Reach: Named,
	}
	a.declare(o)
	described := a.operation(o)
	described.Responses = map[string]*huma.Response{"200": {
		Description: "The content", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}}
	huma.Register(a.huma, described, func(ctx context.Context, in *artifactInput) (*huma.StreamResponse, error) {
		ctx, call, end, err := a.begin(ctx, o, in)
		if err != nil {
			return nil, a.failed(o, err)
		}
		defer end()
		list, err := joblogs.ListArtifacts(ctx, call.Client, in.item(), in.Attempt)
		if err != nil {
			return nil, a.failed(o, err)
		}
		one, err := list.Find(in.Name)
		if err != nil {
			return nil, a.failed(o, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			patient(hc)
			hc.SetHeader("Content-Type", "application/octet-stream")
			hc.SetHeader("X-Content-Type-Options", "nosniff")
			hc.SetHeader("Content-Length", fmt.Sprint(one.Size))
			name := strings.Map(plainName, one.Name[strings.LastIndexByte(one.Name, '/')+1:])
			hc.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="%.100s"`, name))
			if err := list.Write(ctx, call.Client, one, hc.BodyWriter()); err != nil {
				call.Logf("the download of an artifact of %s has ended early: %v", in.item(), err)
			}
		}}, nil
	})
}

// plainName keeps what is harmless in a header and as the name of a file.
func plainName(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
		return r
	}
	return '-'
}
