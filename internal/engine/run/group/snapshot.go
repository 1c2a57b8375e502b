package group

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/spans"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

// snapshotVersion marks the form of the state; Restore refuses others. Version 2 is [contract.FirstState].
const snapshotVersion = 1

// maxSnapshotBytes bounds an unpacked state.
const maxSnapshotBytes = 512 << 20

type snapshot struct {
	clock.Clock
	halt.Halt
	tally.Tally

	Version int          `json:"version"`
	Config  Config       `json:"config"`
	Engine  run.Snapshot `json:"engine"`
	Phase   Phase        `json:"phase"`
	Turn    turn         `json:"turn"`
	After   after.Wait   `json:"after,omitzero"`
	Window  spans.Known  `json:"window,omitzero"`
	Closing Window       `json:"closing,omitzero"`
	Lane    breaks.Break `json:"lane,omitzero"`
	Begun   bool         `json:"begun,omitempty"`
	Detect  detection    `json:"detect"`
	// Open has the jobs without their long texts. These follow the document: so many bytes.
	Open  []*job `json:"open,omitempty"`
	Texts int    `json:"texts,omitempty"`
	Last  int    `json:"last,omitempty"`
	// Backlog has the jobs of pages that are not open, or to which nothing has happened.
	Backlog *backlog.Saved `json:"backlog,omitempty"`
	Chunks  chunks.Claimer `json:"chunks,omitzero"`
	// Claimed are the jobs of pages that are open and claimed, and nothing else.
	Claimed []byte `json:"claimed,omitempty"`
	Bytes   int    `json:"bytes,omitempty"`
	// Pages is the table of the record; see [record.Book.Pack].
	Pages    []contract.RecordPage `json:"pages,omitempty"`
	Failures []openjobs.Failure    `json:"failures,omitempty"`
	Endings  endings.Reporter      `json:"endings,omitzero"`
	Carried  carry.Book            `json:"carried,omitzero"`
	Phases   []contract.GroupPhase `json:"phases,omitempty"`
}

// Snapshot encodes the whole state, compressed: a JSON document, and behind it the long texts of open jobs, and the jobs
// that have ended and are not in pages.
func (g *Group) Snapshot() ([]byte, error) {
	s := snapshot{
		Version: snapshotVersion, Config: g.cfg, Engine: g.engine.Snapshot(), Phase: g.phase, Turn: g.turn, After: g.after, Window: g.window, Closing: g.closing,
		Clock: g.clock, Halt: g.halt,
		Lane: g.lane, Begun: g.begun,
		Detect: g.detect,
		Last:   g.jobs.Last, Bytes: g.jobs.Bytes, Failures: g.jobs.Failures, Pages: g.jobs.Record.Pages(),
		Tally: g.tally, Endings: g.endings, Carried: g.carried, Phases: g.phases,
	}
	travels := map[int]bool{}
	for _, it := range s.Engine.Items {
		travels[it.ID] = true
	}
	open, claimed, rest := g.jobs.Save(travels)
	s.Backlog, s.Chunks, s.Claimed = rest, g.chunks.Claimer, chunks.Pack(claimed)
	s.Open, s.Texts = openjobs.Shorten(open)
	document, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of the group: %w", err)
	}
	ended := g.jobs.Record.Pack()
	raw := append(append(make([]byte, 0, len(document)+1+s.Texts+len(ended)), document...), '\n')
	return pack.Bytes(append(openjobs.AppendTexts(raw, open), ended...)), nil
}

// Restore is the inverse of [Group.Snapshot].
func Restore(data []byte, now time.Time) (*Group, error) {
	raw, err := pack.Open(data, maxSnapshotBytes)
	if err != nil {
		return nil, fmt.Errorf("read the state of the group: %w", err)
	}
	var s snapshot
	document, packed, _ := bytes.Cut(raw, []byte("\n")) // The document has no line break.
	if err := json.Unmarshal(document, &s); err != nil {
		return nil, fmt.Errorf("decode the state of the group: %w", err)
	}
	if s.Version != snapshotVersion {
		return nil, fmt.Errorf("the state of the group has version %d, this program reads %d: let the group end with the program that started it", s.Version, snapshotVersion)
	}
	if s.Texts < 0 || s.Texts > len(packed) {
		return nil, openjobs.ErrTexts
	}
	if err := openjobs.TakeTexts(s.Open, packed[:s.Texts]); err != nil {
		return nil, err
	}
	return s.restore(packed[s.Texts:], now)
}

func (s *snapshot) restore(packed []byte, now time.Time) (*Group, error) {
	engine, err := run.Restore(s.Config.engine(), s.Engine, now)
	if err != nil {
		return nil, err
	}
	g := &Group{}
	g.base = base{
		cfg: s.Config, engine: engine, phase: s.Phase, turn: s.Turn, begun: s.Begun, halt: s.Halt,
	}
	g.window, g.closing, g.clock = s.Window, s.Closing, s.Clock
	g.jobs, g.tally, g.endings, g.carried = openjobs.New(s.Config.window(), s.Config.Resources), s.Tally, s.Endings, s.Carried
	g.detect, g.after, g.lane, g.phases = s.Detect, s.After, s.Lane, s.Phases
	g.turn.begun = true
	if g.tally.ByWorker == nil {
		g.tally.ByWorker = map[string]int{}
	}
	g.jobs.Last, g.jobs.Bytes, g.jobs.Failures = s.Last, s.Bytes, s.Failures
	if g.jobs.Backlog, err = backlog.Restore(s.Config.window(), s.Backlog); err != nil {
		return nil, err
	}
	for _, j := range s.Open {
		if j == nil || j.N < 1 || j.N > max(s.Last, g.jobs.Backlog.Last()) || g.jobs.Open.Get(j.N) != nil {
			return nil, errOutOfPlace
		}
		g.jobs.Open.Put(j)
	}
	g.chunks = chunks.New(&g.jobs, s.Chunks)
	claimed, err := g.chunks.Restore(s.Claimed)
	if err != nil {
		return nil, err
	}
	for _, j := range claimed {
		g.resumeFrom(j)
	}
	if g.jobs.Record, err = record.Unpack(packed, s.Pages); err != nil {
		return nil, err
	}
	g.clock.Bound(g.cfg.Policy)
	g.offerRest()
	return g, nil
}

var errOutOfPlace = errors.New("the state of the group has an open job twice, or out of place")

// offerRest offers the jobs again that the engine's state leaves out, because nothing
// had happened to them.
func (g *work) offerRest() {
	if !g.begun {
		return
	}
	for _, j := range g.jobs.Sorted() {
		if _, known := g.engine.View(j.N); !known && !j.Late && !j.Claiming {
			g.engine.Offer(g.clock.TurnAt, g.cfg.item(j))
		}
	}
}
