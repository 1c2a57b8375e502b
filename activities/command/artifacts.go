package command

import (
	"context"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/internal/lib/artifact"
	"github.com/roundsman/roundsman/jobtype"
)

// A file that cannot be kept does not fail the job: its output gets the reason.
func (p program) collect(ctx context.Context, progress jobtype.Progress) {
	if len(p.launch.Artifacts) == 0 {
		return
	}
	account, err := accountOf(ctx, p.launch)
	if err != nil {
		return // The program has run as this account.
	}
	search := artifact.Search{Dir: account.home(p.launch.Dir), Patterns: p.launch.Artifacts, Owner: -1}
	if account != nil && !account.isOwn() {
		search.Owner = account.UID
	}
	search.Collect(ctx, func(name string, content io.Reader, fault error) {
		if err := jobtype.KeepArtifact(progress, name, content, fault); err != nil {
			_, _ = fmt.Fprintf(jobtype.Log(progress), "roundsman: artifact %s: %v\n", name, err)
		}
	})
}
