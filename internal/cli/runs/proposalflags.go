package runs

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
)

// proposals returns the proposals of a command line, checked without their job type.
func (s submitter) proposals(ctx *cli.Context, of ref.Ref) ([]jobtype.Proposal, error) {
	list, err := s.written(ctx, of)
	if err != nil {
		return nil, err
	}
	var faults []error
	for i, p := range list {
		if err := p.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("proposal %d: %w", i+1, err))
		}
	}
	return list, errors.Join(faults...)
}

func (s submitter) written(ctx *cli.Context, of ref.Ref) ([]jobtype.Proposal, error) {
	if name := ctx.String(ui.FlagFile); name != "" {
		return readProposals(s.Env.Stdin, name)
	}
	p := jobtype.Proposal{DedupeKey: of.Key}
	for _, label := range ui.Pairs(ctx, flagLabel) {
		if label[0] == "worker" {
			p.Node = label[1]
			continue
		}
		if _, twice := p.Labels[label[0]]; twice {
			return nil, fmt.Errorf("--label %s: given twice", label[0])
		}
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[label[0]] = label[1]
	}
	params := ui.Pairs(ctx, ui.FlagParam)
	if len(params) == 0 {
		return []jobtype.Proposal{p}, nil
	}
	var err error
	p.Params, err = ui.ParamsJSON(params)
	return []jobtype.Proposal{p}, err
}
