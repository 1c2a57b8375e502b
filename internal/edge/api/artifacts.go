package api

import (
	"context"
	"fmt"
	"io"
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
	addDownload(a, Operation{
		ID: "download-item-artifact", Method: http.MethodGet, Path: item + "/artifacts/content", Tag: tag, Summary: "Download a file that a job or task has left",
		Description: "404: it is not kept; the detail has the reason. An answer that ends before Content-Length is incomplete.",
		May:         viewItems, Reach: Named,
	}, &huma.Response{
		Description: "The content", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}, func(ctx context.Context, call *Call, in *artifactInput) (download, error) {
		list, err := joblogs.ListArtifacts(ctx, call.Client, in.item(), in.Attempt)
		if err != nil {
			return download{}, err
		}
		one, err := list.Find(in.Name)
		if err != nil {
			return download{}, err
		}
		name := strings.Map(plainName, one.Name[strings.LastIndexByte(one.Name, '/')+1:])
		return download{kind: "application/octet-stream", name: fmt.Sprintf("%.100s", name), size: one.Size, write: func(to io.Writer) error {
			return list.Write(ctx, call.Client, one, to)
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
