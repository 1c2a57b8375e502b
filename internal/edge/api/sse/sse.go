// Package sse writes streams of server-sent events, compressed if the client takes that.
package sse

import (
	"errors"
	"net/http"
	"time"
)

const writeWithin = 30 * time.Second

// Writer writes to one client. Clients share the body of an event.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	pack    *packing
}

// New begins a stream.
func New(w http.ResponseWriter, zipped bool) (*Writer, error) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	head.Add("Vary", "Accept-Encoding")
	out := &Writer{w: w, control: http.NewResponseController(w)}
	if zipped {
		head.Set("Content-Encoding", "gzip")
		out.pack = new(packing)
	}
	// The server's timeout is for requests and would cancel their context.
	if err := out.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return out, nil
}

// Write sends the parts at once. It fails if the client does not read them.
func (e *Writer) Write(parts ...[]byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if e.pack != nil {
		parts = e.pack.packed(parts)
	}
	for _, part := range parts {
		if _, err := e.w.Write(part); err != nil {
			return err
		}
	}
	return e.control.Flush()
}

// End ends the stream.
func (e *Writer) End() {
	if e.pack != nil {
		_, _ = e.w.Write(e.pack.end()) // A client that is gone needs no end.
	}
}
