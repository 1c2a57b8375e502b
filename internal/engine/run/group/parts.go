package group

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/spans"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/internal/engine/run/group/targets"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// The parts of a [Group], each above the one that it embeds. A part owns its fields, and calls only the parts below.

// base has the settings, the engine, the phase and the turn of a group, and its commands.
type base struct {
	cfg    Config
	engine *run.Engine
	out    []source.Command

	phase Phase
	turn  turn
	// begun: the proposals have become jobs, and their numbers are known outside.
	begun bool
	halt  halt.Halt
}

// times has the bounds of the work in time: the maintenance window and max_runtime.
type times struct {
	base

	window spans.Known
	// closing is the window that the group runs in; zero: there is none.
	closing Window
	clock   clock.Clock
}

// work has the jobs, from their proposals to their ends.
type work struct {
	times

	jobs    openjobs.Jobs
	chunks  chunks.Claims
	tally   tally.Tally
	endings endings.Reporter
	carried carry.Book
	filled  filling
}

// search finds the proposals.
type search struct {
	work

	detect detection
	// looked is the last look at the workers for late detections.
	looked targets.Look
}

// course takes the group to its turn, through its windows, and to its end.
type course struct {
	search

	after after.Wait
	// lane is whether the group has its lane while its DAGs wait for approvals.
	lane    breaks.Break
	outcome Outcome
}

// views describes the group and its jobs.
type views struct {
	course

	// phases are those that the group has been in, oldest first.
	phases []contract.GroupPhase
}
