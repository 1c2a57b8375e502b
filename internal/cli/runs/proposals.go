package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// maxSubmitFile bounds the read of a file of proposals.
const maxSubmitFile = 256 << 20

func readInput(stdin io.Reader, name string) ([]byte, error) {
	from := stdin
	if name != ui.StdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, maxSubmitFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxSubmitFile {
		return nil, fmt.Errorf("%s has more than %d bytes: submit it in parts", name, maxSubmitFile)
	}
	return data, nil
}

// toJSON returns JSON unchanged, and translates YAML as a configuration does.
func toJSON(data []byte) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(data)
	switch {
	case json.Valid(trimmed):
		return trimmed, nil
	case len(trimmed) == 0:
		return json.RawMessage("null"), nil
	}
	root, faults := yamlread.Read("", data, yamlread.Options{Bytes: maxSubmitFile, MergeKeys: true, Empty: "write JSON or YAML"})
	if len(faults) > 0 {
		return nil, fmt.Errorf("neither JSON nor YAML: line %d: %s", faults[0].Line, faults[0].Message)
	}
	return json.Marshal(root.Plain())
}

// readProposals reads JSON lines, or a list in JSON or YAML. It reports all faults at once.
func readProposals(stdin io.Reader, name string) ([]jobtype.Proposal, error) {
	data, err := readInput(stdin, name)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	if name == ui.StdinName {
		name = "standard input"
	}
	pieces, err := piecesOf(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(pieces) == 0 {
		return nil, fmt.Errorf("%s has no proposal: write one as JSON on each line, or a list in JSON or YAML", name)
	}
	var list []jobtype.Proposal
	var faults []error
	for _, piece := range pieces {
		proposal, err := decodeProposal(piece.data)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", name, piece.at, err))
		}
		list = append(list, proposal)
	}
	return list, errors.Join(faults...)
}

type piece struct {
	at   string
	data json.RawMessage
}

func piecesOf(data []byte) ([]piece, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return linesOf(data), nil
	}
	list, err := toJSON(data)
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, errors.New("write one proposal as JSON on each line, or a list of proposals in JSON or YAML")
	}
	pieces := make([]piece, len(items))
	for i, item := range items {
		pieces[i] = piece{at: fmt.Sprintf("proposal %d", i+1), data: item}
	}
	return pieces, nil
}

func linesOf(data []byte) []piece {
	var pieces []piece
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			pieces = append(pieces, piece{at: fmt.Sprintf("line %d", i+1), data: line})
		}
	}
	return pieces
}

// decodeProposal refuses unknown keys, because a misspelt key would have no effect.
func decodeProposal(data []byte) (jobtype.Proposal, error) {
	var proposal jobtype.Proposal
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&proposal); err != nil {
		return proposal, fmt.Errorf("not a proposal: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return proposal, errors.New("more than one JSON value: write one proposal on each line")
	}
	return proposal, nil
}
