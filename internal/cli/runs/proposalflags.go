package runs

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
)

// proposals returns the proposals of a command line, checked without their job type.
func (s submitter) proposals(ctx *cli.Context) ([]jobtype.Proposal, error) {
	list, err := s.written(ctx)
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

func (s submitter) written(ctx *cli.Context) ([]jobtype.Proposal, error) {
	if name := ctx.String(flagFile); name != "" {
		return readProposals(s.Env.Stdin, name)
	}
	p := jobtype.Proposal{
		DedupeKey: ctx.String(FlagKey), Summary: ctx.String(flagSummary), Detail: ctx.String(flagDetail),
		Priority: jobtype.Priority(ctx.String(flagPriority)), Node: ctx.String(flagNode), Exclusive: ui.Texts(ctx, flagExclusive),
		Shared: ui.Texts(ctx, flagShared),
	}
	now := s.Env.Now()
	var faults []error
	try := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	if written := ctx.String(flagParams); written != "" {
		p.Params, err = readParams(s.Env.Stdin, written)
		try(err)
	}
	p.Labels, err = proposalLabels(ctx)
	try(err)
	p.Resources, err = proposalResources(ctx)
	try(err)
	p.NotBefore, err = parseLater(flagNotBefore, ctx.String(flagNotBefore), now)
	try(err)
	p.ExpiresAt, err = parseLater(flagExpiresAt, ctx.String(flagExpiresAt), now)
	try(err)
	if written := ctx.String(flagEstimated); written != "" {
		p.EstimatedRuntime, err = jobtype.ParseDuration(written)
		try(err)
	}
	if name := ctx.String(flagDAG); name != "" {
		p.DAG, err = s.readDAG(name)
		try(err)
	}
	return []jobtype.Proposal{p}, errors.Join(faults...)
}

// readDAG reads a graph without other files, because only its text is sent.
func (s submitter) readDAG(name string) (string, error) {
	data, err := s.ReadSpec(name)
	if err != nil {
		return "", err
	}
	loaded, err := spec.Load(name, data)
	if err == nil {
		_, err = spec.Compile(loaded, nil)
	}
	if err != nil {
		return "", fmt.Errorf("--dag: %w", err)
	}
	return string(data), nil
}

func proposalLabels(ctx *cli.Context) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range pairsOf(ctx, flagLabel) {
		if _, twice := labels[pair[0]]; twice {
			return nil, fmt.Errorf("--label %s: given twice", pair[0])
		}
		labels[pair[0]] = pair[1]
	}
	if len(labels) == 0 {
		return nil, nil
	}
	return labels, nil
}

func proposalResources(ctx *cli.Context) (map[string]int, error) {
	resources := map[string]int{}
	for _, pair := range pairsOf(ctx, flagResource) {
		n, err := strconv.Atoi(pair[1])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--resource %s=%s: write a whole number of at least 1", pair[0], pair[1])
		}
		if _, twice := resources[pair[0]]; twice {
			return nil, fmt.Errorf("--resource %s: given twice", pair[0])
		}
		resources[pair[0]] = n
	}
	if len(resources) == 0 {
		return nil, nil
	}
	return resources, nil
}

func pairsFlag(name, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &ui.ParamFlag{}, Usage: usage}
}

func pairsOf(ctx *cli.Context, name string) [][2]string {
	if pairs, ok := ctx.Generic(name).(*ui.ParamFlag); ok && pairs != nil {
		return pairs.Given
	}
	return nil
}
