package scrub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	defaultReverifyAfter = jobtype.Duration(30 * 24 * time.Hour)
	defaultForgetAfter   = jobtype.Duration(90 * 24 * time.Hour)
	minForgetAfter       = jobtype.Duration(24 * time.Hour)
)

type params struct {
	Root           string            `json:"root"`
	ReverifyAfter  *jobtype.Duration `json:"reverify_after"`
	Exclude        []string          `json:"exclude"`
	MaxFileSize    int64             `json:"max_file_size"`
	FollowSymlinks bool              `json:"follow_symlinks"`
	OneFilesystem  bool              `json:"one_filesystem"`
	State          string            `json:"state"`
	Pin            bool              `json:"pin"`
	DropCache      *bool             `json:"drop_cache"`
	ForgetAfter    *jobtype.Duration `json:"forget_after"`
	File           *fileParams       `json:"file"`
}

type fileParams struct {
	// Path is relative to root, with slashes. PathBase64 replaces it for names that are not UTF-8.
	Path       string `json:"path,omitempty"`
	PathBase64 string `json:"path_base64,omitempty"`
	// Size, MtimeNS and Inode describe the file at its detection.
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode,omitempty"`
	// DetectedBy and Baseline name the worker and its baseline file.
	DetectedBy string `json:"detected_by,omitempty"`
	Baseline   string `json:"baseline,omitempty"`
}

func newFileParams(relative string, seen identity) fileParams {
	file := fileParams{Size: seen.Size, MtimeNS: seen.MtimeNS, Inode: seen.Inode}
	if utf8.ValidString(relative) {
		file.Path = relative
	} else {
		file.PathBase64 = base64.StdEncoding.EncodeToString([]byte(relative))
	}
	return file
}

func (f fileParams) relative() (string, error) {
	path := f.Path
	if f.PathBase64 != "" {
		decoded, err := base64.StdEncoding.DecodeString(f.PathBase64)
		if err != nil {
			return "", fmt.Errorf("params.file.path_base64: %w", err)
		}
		path = string(decoded)
	}
	local := filepath.FromSlash(path)
	if path == "" || !filepath.IsLocal(local) {
		return "", fmt.Errorf("params.file.path: %q is no path below root", path)
	}
	return local, nil
}

func readParams(data json.RawMessage) (params, error) {
	var parsed params
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if len(bytes.TrimSpace(data)) == 0 {
		return parsed, errors.New("params: scrub needs at least `params: {root: DIRECTORY}`")
	}
	if err := decoder.Decode(&parsed); err != nil {
		return parsed, fmt.Errorf("params: %w", err)
	}
	var faults []error
	if parsed.Root == "" {
		faults = append(faults, errors.New("params.root: name the directory to scrub"))
	}
	if parsed.reverifyAfter() < 0 {
		faults = append(faults, errors.New("params.reverify_after: must not be negative; 0s verifies every file every time"))
	}
	if parsed.forgetAfter() < minForgetAfter.Std() {
		faults = append(faults, fmt.Errorf("params.forget_after: must be at least %s, so that a disk that is not mounted for a while keeps its baseline", minForgetAfter))
	}
	if parsed.MaxFileSize < 0 {
		faults = append(faults, errors.New("params.max_file_size: must be at least 1 byte; leave it out for no limit"))
	}
	if _, err := newExclusion(parsed.Exclude); err != nil {
		faults = append(faults, err)
	}
	return parsed, errors.Join(faults...)
}

func (p params) reverifyAfter() time.Duration {
	if p.ReverifyAfter == nil {
		return defaultReverifyAfter.Std()
	}
	return p.ReverifyAfter.Std()
}

func (p params) forgetAfter() time.Duration {
	if p.ForgetAfter == nil {
		return defaultForgetAfter.Std()
	}
	return p.ForgetAfter.Std()
}

func (p params) dropCache() bool { return p.DropCache == nil || *p.DropCache }

// A missing root is an error: an unmounted disk must not count as an empty tree.
func (p params) root() (string, error) {
	root, err := filepath.Abs(p.Root)
	if err != nil {
		return "", fmt.Errorf("root %s: %w", p.Root, err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return "", fmt.Errorf("root %s cannot be read: %w; is the disk mounted on this node?", root, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("root %s is no directory", root)
	}
	return root, nil
}
