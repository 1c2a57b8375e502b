package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	// maxLine fits the largest proposal, with a graph.
	maxLine     = 256 << 10
	pageSize    = 100
	shownFaults = 5
)

var errEnough = errors.New("the detection printed far more than the group takes")

// A bad line is emitted as refused, with its number, and the others continue.
type proposals struct {
	format string
	sink   jobtype.ProposalSink
	most   int // the surplus that is counted

	page    []jobtype.Proposal
	line    int
	good    int
	bad     int
	faults  []error
	full    bool
	surplus int
}

func (p *proposals) read(ctx context.Context, stdout io.Reader) error {
	reader := bufio.NewReaderSize(stdout, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			p.line++
			if addErr := p.add(ctx, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), tooLong); addErr != nil {
				return addErr
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = reader.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return p.flush(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (p *proposals) add(ctx context.Context, line []byte, tooLong bool) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if p.full { // Only the number of the following lines matters.
		p.page = append(p.page, jobtype.Proposal{})
		if len(p.page) < pageSize {
			return nil
		}
		return p.flush(ctx)
	}
	proposal, err := p.parse(line, tooLong)
	if err == nil {
		err = proposal.Validate()
	}
	if err == nil {
		p.good++
	} else {
		p.bad++
		key := proposal.DedupeKey
		if refused, ok := errors.AsType[*jobtype.ProposalError](err); ok {
			err = refused.Reasons
		}
		err = fmt.Errorf("line %d: %w", p.line, err)
		if len(p.faults) < shownFaults {
			p.faults = append(p.faults, err)
		}
		proposal = jobtype.Refused(key, err)
	}
	p.page = append(p.page, proposal)
	if len(p.page) < pageSize {
		return nil
	}
	return p.flush(ctx)
}

func (p *proposals) parse(line []byte, tooLong bool) (jobtype.Proposal, error) {
	if tooLong {
		return jobtype.Proposal{}, fmt.Errorf("longer than %d bytes, it begins with %.40q", maxLine, line)
	}
	if !utf8.Valid(line) {
		return jobtype.Proposal{}, fmt.Errorf("not valid UTF-8: %.80q; print such names quoted or as base64 with format: json", line)
	}
	if p.format == formatJSON {
		return parseJSON(line)
	}
	text := string(line)
	params, err := json.Marshal(map[string]string{"item": text})
	return jobtype.Proposal{
		DedupeKey: jobtype.KeyOf(text), Summary: jobtype.OneLine(text, jobtype.MaxSummaryBytes), Params: params,
	}, err
}

var proposalKeys = keysOf(reflect.TypeFor[jobtype.Proposal]()) //nolint:gochecknoglobals // constant table

func keysOf(of reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for field := range of.Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" {
			keys[key] = true
		}
	}
	return keys
}

// encoding/json alone accepts null as an empty object, and keys in any case.
func parseJSON(line []byte) (jobtype.Proposal, error) {
	var proposal jobtype.Proposal
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err == nil {
		if keys == nil {
			return proposal, errors.New("null is no proposal: print an object, or no line")
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !proposalKeys[key] {
				return proposal, fmt.Errorf("not a proposal as JSON: unknown key %q, in %.80q", key, line)
			}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&proposal); err != nil {
		return jobtype.Proposal{}, fmt.Errorf("not a proposal as JSON: %w, in %.80q", err, line)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return jobtype.Proposal{}, fmt.Errorf("more than one JSON value on the line: %.80q", line)
	}
	return proposal, nil
}

// flush continues after the sink is full, because only the sink can count the surplus. The end of ctx may have cut the
// output of a program that has ended.
func (p *proposals) flush(ctx context.Context) error {
	if len(p.page) == 0 {
		return context.Cause(ctx)
	}
	err := p.sink.Emit(ctx, p.page...)
	if p.full {
		p.surplus += len(p.page)
	}
	p.page = p.page[:0]
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, jobtype.ErrSinkFull) {
		p.full = true
	} else if _, refused := errors.AsType[*jobtype.ProposalError](err); err != nil && !refused {
		return err
	}
	if p.surplus >= p.most {
		return errEnough
	}
	return nil
}

// verdict fails a detection that printed only invalid lines: its output had another purpose.
func (p *proposals) verdict() error {
	if p.good > 0 || p.bad == 0 {
		return nil
	}
	return fmt.Errorf("the detection printed %d lines and none of them is a proposal (format: %s): %w", p.bad, p.format, errors.Join(p.faults...))
}
