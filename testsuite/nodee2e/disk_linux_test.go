package nodee2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// smallDisk mounts a file system of that size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fill leaves no room on a disk until the returned function is called.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	require.NoError(t, file.Close())
	return func() { require.NoError(t, os.Remove(file.Name())) }
}

type checked struct{ Name, Verdict, Found, Fix string }

// doctor returns one check.
func doctor(t *testing.T, s *sites.Site, name string) checked {
	t.Helper()
	var found struct{ Checks []checked }
	p := s.Start("doctor", "--output", "json")
	p.Code(t, time.Minute)
	require.NoError(t, json.Unmarshal([]byte(p.Stdout.String()), &found), p.Stdout.String())
	for _, check := range found.Checks {
		if check.Name == name {
			return check
		}
	}
	return checked{}
}

// TestDoctorSeesAFullServer: reads succeed on a full disk, so doctor writes.
func TestDoctorSeesAFullServer(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "64m")
	s := &sites.Site{T: t, Dir: t.TempDir()}
	require.NoError(t, os.WriteFile(s.File(), []byte(sites.Scaled+"job_types: {}\n"), 0o600))
	s.Server = replay.StartServer(t, testsuite.WithFile(filepath.Join(disk, "temporal.db")))
	s.Dial(starter.Options{})
	s.Start("server")
	testsuite.WaitFor(t, time.Minute, "a server that stores", func() bool {
		return doctor(t, s, "storage").Found == "the server stores what it is sent"
	})

	free := fill(t, disk)
	var check checked
	testsuite.WaitFor(t, time.Minute, "doctor to see it", func() bool {
		check = doctor(t, s, "storage")
		return check.Verdict == "fail"
	})
	t.Log(check.Found)
	assert.Contains(t, check.Fix, "df -h")

	free()
	testsuite.WaitFor(t, 2*time.Minute, "a server that stores again", func() bool { return doctor(t, s, "storage").Verdict == "ok" })
}
