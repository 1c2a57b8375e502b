package openjobs

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// shortTexts is the size up to which the texts of a job stay in the document of a state.
const shortTexts = 512

// ErrTexts reports a damaged state.
var ErrTexts = errors.New("the texts of open jobs are damaged")

// Shorten returns the jobs without their long texts, and the bytes that [AppendTexts] adds for them. JSON would scan
// and copy a DAG of 190 KB several times.
func Shorten(jobs []*Job) (short []*Job, size int) {
	short = slices.Clone(jobs)
	for i, j := range jobs {
		if j.texts() <= shortTexts {
			continue
		}
		plain := *j
		plain.Proposal.DAG, plain.Proposal.Detail, plain.Proposal.Params = "", "", nil
		short[i] = &plain
		size += sizeOf(i)
		for _, n := range [...]int{len(j.Proposal.DAG), len(j.Proposal.Detail), len(j.Proposal.Params)} {
			size += sizeOf(n) + n
		}
	}
	return short, size
}

// sizeOf returns the bytes of a number.
func sizeOf(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 } //nolint:gosec // numbers are positive

func (j *Job) texts() int {
	return len(j.Proposal.DAG) + len(j.Proposal.Detail) + len(j.Proposal.Params)
}

// AppendTexts adds the texts that [Shorten] removes: for each job its index among the jobs, and three texts.
func AppendTexts(out []byte, jobs []*Job) []byte {
	for i, j := range jobs {
		if j.texts() <= shortTexts {
			continue
		}
		out = binary.AppendUvarint(out, uint64(i)) //nolint:gosec // indices are positive
		out = appendText(out, j.Proposal.DAG)
		out = appendText(out, j.Proposal.Detail)
		out = appendText(out, j.Proposal.Params)
	}
	return out
}

func appendText[T ~string | ~[]byte](out []byte, text T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// TakeTexts is the inverse of [AppendTexts]. It copies the texts.
func TakeTexts(jobs []*Job, texts []byte) error {
	var fault error
	number := func() uint64 {
		n, size := binary.Uvarint(texts)
		if size <= 0 {
			texts, fault = nil, ErrTexts
			return 0
		}
		texts = texts[size:]
		return n
	}
	text := func() []byte {
		n := number()
		if n > uint64(len(texts)) {
			texts, fault = nil, ErrTexts
			return nil
		}
		var t []byte
		t, texts = texts[:n], texts[n:]
		return t
	}
	for len(texts) > 0 {
		i := number()
		dag, detail, params := text(), text(), text()
		if fault != nil || i >= uint64(len(jobs)) || jobs[i] == nil {
			return ErrTexts
		}
		p := &jobs[i].Proposal
		p.DAG, p.Detail, p.Params = string(dag), string(detail), append(p.Params, params...)
	}
	return nil
}
