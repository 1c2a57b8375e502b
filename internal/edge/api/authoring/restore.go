package authoring

import (
	"context"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// restoreWithin bounds a restore, also of a caller that has left.
const restoreWithin = time.Minute

type restore struct {
	api.JobTypePath
	Body struct {
		Entry int64 `json:"entry,omitempty" minimum:"0" doc:"The seq of the audit log's entry about the change; default: the last one that is restorable"`
	}
}

// Without an entry the last restorable one may be that of the first request. Its former settings are not in force.
func isRestored(ctx context.Context, call *api.Call, in *restore) (bool, error) {
	return jobtypes.Of(call.Client).IsRestored(ctx, in.Name, in.Body.Entry)
}

func (s *service) restores() {
	api.Add(s.api, api.Operation{
		ID: "restore-job-type", Method: http.MethodPost, Path: "/job-types/{name}/restore", Tag: "job types", Summary: "Put back the settings that a job type had before a change",
		Description: "The audit log keeps them with its entries about settings, as long as they fit: those have restorable. A deleted job type is made again. " +
			"It needs the permission to change the configuration.",
		May: changeConfiguration, Reach: api.Named, AnyHandler: true, Settings: true, Already: api.Already(isRestored),
	}, func(ctx context.Context, call *api.Call, in *restore) (jobtypes.Change, error) {
		// A restore that has begun is recorded, even if its caller leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreWithin)
		defer cancel()
		return jobtypes.Of(call.Client).Restore(ctx, in.Name, in.Body.Entry)
	})
}
