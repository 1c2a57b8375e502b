package hook

import (
	"bytes"
	"io"
)

// Marked returns a writer that puts a mark before each line. One stream needs one of its own.
func Marked(to io.Writer, mark string) io.Writer { return &marked{to: to, mark: mark, begins: true} }

type marked struct {
	to     io.Writer
	mark   string
	begins bool
}

// Write implements io.Writer.
func (m *marked) Write(data []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		if m.begins {
			out.WriteString(m.mark)
		}
		out.Write(line)
		m.begins = line[len(line)-1] == '\n'
	}
	if _, err := m.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(data), nil
}
