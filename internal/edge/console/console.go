package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed all:assets
var assets embed.FS

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	app         = "assets/app"
	placeholder = "assets/without-node.html"
	index       = "index.html"
)

type page struct {
	plain, zipped []byte
	kind          string
	// forever means that its name changes with its content.
	forever bool
}

// Built reports whether the binary contains the console, not just the placeholder.
func Built() bool {
	_, err := fs.Stat(assets, path.Join(app, index))
	return err == nil
}

// Handler serves the console at any path: the state is in the fragment of the address.
func Handler() http.Handler {
	pages, err := load(assets)
	if err != nil { // Embedded files are always readable.
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	return &handler{pages}
}

type handler struct{ pages map[string]page }

func load(from fs.FS) (map[string]page, error) {
	pages := map[string]page{}
	err := fs.WalkDir(from, app, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		read, err := newPage(from, name)
		pages[strings.TrimSuffix(strings.TrimPrefix(name, app+"/"), packed)] = read
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		pages[index], err = newPage(from, placeholder)
	}
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}
	return pages, nil
}

// packed ends the name of a file that `make web` compresses.
const packed = ".gz"

func newPage(from fs.FS, name string) (page, error) {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		return page{}, err //nolint:wrapcheck // the caller adds the file
	}
	read := page{forever: path.Dir(name) == app+"/assets"}
	name, isPacked := strings.CutSuffix(name, packed)
	if isPacked {
		read.zipped = text
	} else {
		read.plain = text
		if read.zipped, err = zip(text); err != nil {
			return page{}, err
		}
	}
	read.kind = mime.TypeByExtension(path.Ext(name))
	switch {
	case path.Ext(name) == ".woff2":
		read.kind = "font/woff2" // The table of types of some machines lacks it.
	case read.kind == "":
		read.kind = "application/octet-stream"
	}
	return read, nil
}

func zip(text []byte) ([]byte, error) {
	var zipped bytes.Buffer
	writer, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return nil, err //nolint:wrapcheck // the level is a constant
	}
	if _, err := writer.Write(text); err != nil {
		return nil, err //nolint:wrapcheck // a buffer takes everything
	}
	if err := writer.Close(); err != nil {
		return nil, err //nolint:wrapcheck // a buffer takes everything
	}
	return zipped.Bytes(), nil
}

func (p page) text() ([]byte, error) {
	if p.plain != nil {
		return p.plain, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(p.zipped))
	if err != nil {
		return nil, fmt.Errorf("unpack a page: %w", err)
	}
	return io.ReadAll(reader)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the console is read with GET; operations are at /api/v1", http.StatusMethodNotAllowed)
		return
	}
	name := cmp.Or(strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/"), index)
	found, ok := h.pages[name]
	if !ok {
		http.Error(w, "there is no such page: the console is at /, its pages behind the #", http.StatusNotFound)
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("Content-Type", found.kind)
	head.Set("Cache-Control", "no-cache")
	if found.forever {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	head.Set("Vary", "Accept-Encoding")
	body := found.zipped
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		head.Set("Content-Encoding", "gzip")
	} else {
		var err error
		if body, err = found.text(); err != nil { // Embedded files are always readable.
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // It fails only if the client is gone.
	}
}
