package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// prepare makes a directory with old and new files and returns the input of a detection in it.
func prepare(t *testing.T) (string, jobtype.DetectInput) {
	t.Helper()
	dir := t.TempDir()
	age := map[string]time.Duration{
		"old.tmp": 30 * 24 * time.Hour, "new.tmp": time.Hour, "old.txt": 30 * 24 * time.Hour,
		"sub/1.tmp": 8 * 24 * time.Hour, "sub/2.tmp": 9 * 24 * time.Hour, "empty/x.txt": 0,
	}
	for name, age := range age {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	params, err := json.Marshal(map[string]string{"dir": dir})
	if err != nil {
		t.Fatal(err)
	}
	return dir, jobtype.DetectInput{Params: params, WorkerID: "node-a"}
}

// TestConformance is one line that every handler should have.
func TestConformance(t *testing.T) {
	_, input := prepare(t)
	jobtypetest.Check(t, newHandler(), jobtypetest.Case{Input: input})
}

func TestOldFilesGoAndOthersStay(t *testing.T) {
	t.Parallel()
	dir, input := prepare(t)
	found := jobtypetest.Detect(t.Context(), newHandler(), input)
	if want := []string{"node-a:" + dir, "node-a:" + dir + "/sub"}; !reflect.DeepEqual(found.Keys(), want) {
		t.Fatalf("found %q, want %q", found.Keys(), want)
	}
	if !strings.HasPrefix(found.Proposals[1].Summary, "remove 2 files (10 bytes) from ") {
		t.Errorf("summary %q", found.Proposals[1].Summary)
	}
	for _, proposal := range found.Proposals {
		job, err := jobtypetest.JobOf(input, proposal, nil)
		if err != nil {
			t.Fatal(err)
		}
		if done := jobtypetest.Execute(t.Context(), newHandler(), job); done.Err != nil {
			t.Fatal(done.Err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	inSub, err := filepath.Glob(filepath.Join(dir, "sub", "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "empty"), filepath.Join(dir, "new.tmp"), filepath.Join(dir, "old.txt"), filepath.Join(dir, "sub")}
	if !reflect.DeepEqual(left, want) || len(inSub) != 0 {
		t.Errorf("left are %q and %q", left, inSub)
	}
	if again := jobtypetest.Detect(t.Context(), newHandler(), input); len(again.Proposals) != 0 {
		t.Errorf("found again: %q", again.Keys())
	}
}

func TestFileTouchedAfterTheDetectionStays(t *testing.T) {
	t.Parallel()
	dir, input := prepare(t)
	found := jobtypetest.Detect(t.Context(), newHandler(), input)
	touched := filepath.Join(dir, "sub", "1.tmp")
	if err := os.Chtimes(touched, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	job, err := jobtypetest.JobOf(input, found.Proposals[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	done := jobtypetest.Execute(t.Context(), newHandler(), job)
	if done.Err != nil || done.Result.Summary != "removed 1 files, 5 bytes" {
		t.Errorf("%+v", done)
	}
	if _, err := os.Stat(touched); err != nil {
		t.Error(err)
	}
}

func TestCanceledJobStopsBetweenFilesAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	_, input := prepare(t)
	found := jobtypetest.Detect(t.Context(), newHandler(), input)
	job, err := jobtypetest.JobOf(input, found.Proposals[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	first := jobtypetest.Execute(t.Context(), newHandler(), job, jobtypetest.CancelAtReport(1, jobtype.ErrDraining))
	if first.Err == nil || !strings.Contains(first.Err.Error(), jobtype.ErrDraining.Error()) {
		t.Errorf("the first attempt ended with %v", first.Err)
	}
	job.Attempt = 2
	second := jobtypetest.Execute(t.Context(), newHandler(), job)
	if second.Err != nil || second.Result.Summary != "removed 1 files, 5 bytes" {
		t.Errorf("the second attempt: %+v", second)
	}
}

func TestBadParamsAreNamed(t *testing.T) {
	t.Parallel()
	err := newHandler().ValidateSettings(json.RawMessage(`{"dir":"/tmp","older_than":"1s","patterns":["["]}`), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "params.older_than") || !strings.Contains(err.Error(), "params.patterns[0]") {
		t.Errorf("got %v", err)
	}
	missing := jobtypetest.Detect(t.Context(), newHandler(), jobtype.DetectInput{Params: json.RawMessage(`{"dir":"/no/such/directory"}`)})
	if missing.Err == nil || !strings.Contains(missing.Err.Error(), "/no/such/directory") {
		t.Errorf("got %v", missing.Err)
	}
}
