package inspect

import (
	"context"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/holds"
)

func (s *status) handOver(ctx context.Context, client *starter.Client) {
	note := func(err error) {
		if err != nil {
			s.Unknown, s.faults = append(s.Unknown, err.Error()), append(s.faults, err)
		}
	}
	var err error
	s.Holds, err = holds.List(ctx, client, "")
	note(err)
	read, err := client.Audit().Read(ctx, contract.AuditFilter{Kind: contract.AuditOperator, Since: s.Since})
	note(err)
	s.Changes = read.Entries
}

func (c *commands) printHandOver(found status, now time.Time) {
	if len(found.Holds) > 0 {
		c.Print("")
		c.PrintTable(holdsTable(found.Holds, now), "")
	}
	if len(found.Changes) > 0 {
		c.Print("")
		c.printAudit(found.Changes, false)
	}
}
