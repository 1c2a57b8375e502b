package cli

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// answerWriter remembers a failed write: a truncated answer on a full disk must not end with exit code 0.
type answerWriter struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (a *answerWriter) Write(text []byte) (int, error) {
	n, err := a.w.Write(text)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.err == nil {
			a.err = err
		}
	}
	return n, err //nolint:wrapcheck // it stands for the writer
}

func (a *answerWriter) lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		return nil
	}
	return fmt.Errorf("the output is incomplete: %w", a.err)
}

func checkText(c *cli.Context) error {
	for _, word := range c.Args().Slice() {
		if !utf8.ValidString(word) {
			return ui.Usagef("argument %q is not UTF-8: write names, keys and texts in UTF-8", word)
		}
	}
	for _, flag := range c.Command.Flags {
		if sort, ok := flag.(*ui.SortFlag); ok {
			flag = sort.StringFlag
		}
		text, ok := flag.(*cli.StringFlag)
		if ok && !text.TakesFile && !utf8.ValidString(c.String(text.Name)) {
			return ui.Usagef("--%s %q is not UTF-8: write names, keys and texts in UTF-8", text.Name, c.String(text.Name))
		}
	}
	return nil
}
