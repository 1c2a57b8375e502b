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
	// maxLine bounds one line of a detection: the largest proposal, with a
	// graph, still fits.
	maxLine = 256 << 10
	// pageSize is how many proposals one Emit hands over; the sink makes its
	// own pages of them.
	pageSize = 100
	// shownFaults is how many bad lines an error quotes.
	shownFaults = 5
)

// errEnough ends the reading of a detection that has printed the most
// proposals beyond those that the group takes.
var errEnough = errors.New("the detection printed far more than the group takes")

// proposals turns the lines of a detection into proposals. A bad line is
// emitted as refused, with its number, and the others continue.
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

// read consumes a detection's stdout to its end.
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

// proposalKeys are the keys of a line of JSON.
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

// parseJSON takes one object with exactly the keys of a proposal: encoding/json
// alone takes null for an empty one, and keys in any case.
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

// flush hands the page over. After the sink is full the rest is still emitted,
// because only the sink can count the surplus, up to the most.
func (p *proposals) flush(ctx context.Context) error {
	if len(p.page) == 0 {
		return nil
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
