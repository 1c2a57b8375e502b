package command

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	progressPrefix = "::progress "
	// maxProgressLine bounds a line of progress; a longer line is output.
	maxProgressLine = 4 << 10
)

// follow sends progress lines to progress, everything else to output. It holds at most one line.
func follow(stdout io.Reader, output io.Writer, progress jobtype.Progress) error {
	reader := bufio.NewReaderSize(stdout, maxProgressLine)
	whole := true // the piece begins at the beginning of a line
	for {
		piece, err := reader.ReadSlice('\n')
		complete := !errors.Is(err, bufio.ErrBufferFull)
		if whole && complete && progress != nil && reported(piece, progress) {
			piece = nil
		}
		if _, writeErr := output.Write(piece); writeErr != nil {
			return writeErr
		}
		whole = complete
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// reported leaves a line that only looks like progress in the output, where its author finds it.
func reported(line []byte, progress jobtype.Progress) bool {
	if !bytes.HasPrefix(line, []byte(progressPrefix)) {
		return false
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(line), progressPrefix))
	number, rest, _ := strings.Cut(text, " ")
	percent, err := strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
	if err != nil || math.IsNaN(percent) {
		return false
	}
	stage, message, _ := strings.Cut(strings.TrimSpace(rest), " ")
	progress.Report(min(max(percent, -1), 100), jobtype.OneLine(stage, 100), jobtype.OneLine(message, 500))
	return true
}
