package command

import (
	"encoding/json"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/jobtype"
)

// eachMark begins an argument that is repeated for each item of the batch. The rest is a template with .Item.
const eachMark = "{{each}}"

// itemView is .Item, and an element of .Batch, in the templates of `execute`.
type itemView struct {
	DedupeKey, Summary, Detail, Priority string
	Labels                               map[string]string
	Params                               any
}

func itemViews(job jobtype.Job) ([]itemView, error) {
	var views []itemView
	for _, item := range job.Items() {
		params, err := gotemplate.Plain("params", item.Params)
		if err != nil {
			return nil, err
		}
		views = append(views, itemView{
			DedupeKey: item.DedupeKey, Summary: item.Summary, Detail: item.Detail, Priority: string(item.Priority),
			Labels: item.Labels, Params: params,
		})
	}
	return views, nil
}

// inputOf returns the standard input, which is also .Params: the params, and under `batch:` the batch as `items`.
func inputOf(job jobtype.Job) (json.RawMessage, error) {
	if len(job.Batch) == 0 {
		return job.Params, nil
	}
	items, err := json.Marshal(map[string][]jobtype.BatchItem{"items": job.Batch})
	if err != nil {
		return nil, err
	}
	return jobtype.OverlayParams(job.Params, items)
}

func repeated(block, argument string) (string, bool) {
	if block != "execute" {
		return "", false
	}
	return strings.CutPrefix(argument, eachMark)
}
