package joblog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

const artifactsFile = "artifacts.json"

// Artifact is a file that an attempt has left.
type Artifact struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Error is the reason for which its content is not kept.
	Error string `json:"error,omitempty"`
}

type artifacts struct {
	mu   sync.Mutex
	list []Artifact
	size int64
}

// ErrNoArchive is the error of an artifact on a worker without data directory.
var ErrNoArchive = errors.New("the worker has no data directory")

// Attach keeps a file of the attempt, or the reason why there is none. All files together have the bound of the output.
func (l *Log) Attach(name string, content io.Reader, fault error) error {
	l.mu.Lock()
	f := l.file
	l.mu.Unlock()
	if f == nil {
		return ErrNoArchive
	}
	f.attached.mu.Lock()
	defer f.attached.mu.Unlock()
	if err := f.attachable(); err != nil {
		return err
	}
	added := Artifact{Name: name}
	if fault == nil {
		added.Size, fault = f.attach(len(f.attached.list), content)
	}
	if fault != nil {
		added.Error, added.Size = fault.Error(), 0
	}
	f.attached.size += added.Size
	f.attached.list = append(f.attached.list, added)
	return errors.Join(f.writeArtifacts(), fault)
}

func (f *file) attachable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.replaced {
		return errReplaced
	}
	return f.create()
}

func (f *file) attach(index int, content io.Reader) (size int64, err error) {
	buffer := make([]byte, maxSegment)
	for number := 0; err == nil; number++ {
		var n int
		n, err = io.ReadFull(content, buffer)
		size += int64(n)
		if room := f.max - f.attached.size; size > room {
			err = fmt.Errorf("larger than the %d bytes that output.max leaves for it", room)
		}
		if n > 0 && (err == nil || ended(err)) {
			path := filepath.Join(f.dir, blockName(index, number))
			data := f.archive.encoder.EncodeAll(buffer[:n], nil)
			f.archive.grown.Add(int64(len(data)))
			if failed := writeSynced(path, data); failed != nil {
				err = failed
			}
		}
		if err != nil && !ended(err) {
			for ; number >= 0; number-- {
				_ = os.Remove(filepath.Join(f.dir, blockName(index, number)))
			}
			return 0, err
		}
	}
	return size, nil
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func blockName(index, number int) string {
	return fmt.Sprintf("artifact-%03d-%06d%s", index, number, compressedSuffix)
}

func (f *file) writeArtifacts() error {
	text, err := json.Marshal(f.attached.list)
	if err != nil {
		return err
	}
	path := filepath.Join(f.dir, artifactsFile)
	if err := writeSynced(path+temporarySuffix, text); err != nil {
		return err
	}
	return os.Rename(path+temporarySuffix, path)
}

// Artifacts lists the artifacts of an attempt, 0: the newest that is kept, and returns its number.
func (s *Store) Artifacts(key Key) ([]Artifact, int) {
	if s.archive == nil {
		return nil, key.Attempt
	}
	if key.Attempt == 0 {
		key.Attempt = s.archive.newest(key)
	}
	var list []Artifact
	text, err := os.ReadFile(filepath.Join(s.archive.attemptDir(key), artifactsFile))
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil, key.Attempt
	}
	return list, key.Attempt
}

// ReadArtifact returns a part of an artifact from an offset on, at most [MaxChunk]. It is empty at the end.
func (s *Store) ReadArtifact(key Key, name string, offset int64) ([]byte, error) {
	list, attempt := s.Artifacts(key)
	key.Attempt = attempt
	index := slices.IndexFunc(list, func(a Artifact) bool { return a.Name == name && a.Error == "" })
	if index < 0 {
		return nil, os.ErrNotExist
	}
	if offset < 0 || offset >= list[index].Size {
		return nil, nil
	}
	path := filepath.Join(s.archive.attemptDir(key), blockName(index, int(offset/maxSegment)))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if data, err = s.archive.decoder.DecodeAll(data, nil); err != nil {
		return nil, err
	}
	data = data[min(offset%maxSegment, int64(len(data))):]
	return data[:min(len(data), MaxChunk)], nil
}
