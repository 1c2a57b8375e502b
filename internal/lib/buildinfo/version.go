package buildinfo

import (
	"cmp"
	"path"
	"runtime/debug"
)

// modulePath is the module whose version is wanted, also when it is a
// dependency of somebody's binary with handlers of their own.
const modulePath = "github.com/roundsman/roundsman"

// unknown is the version of a build that recorded none, e.g. `go run` in a
// working tree.
const unknown = "dev"

// stamped is written by the linker and by nobody else: the Makefile passes
// `-X github.com/roundsman/roundsman/internal/lib/buildinfo.stamped=$(git describe)`.
var stamped string //nolint:gochecknoglobals // the linker can only write to a package variable

// Version is the stamp of `make build`; without one, the version that the Go
// toolchain recorded (as of `go install …@v1.2.3`, or of a binary that requires
// this module); else "dev". It is never empty.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return cmp.Or(stamped, recorded(info), unknown)
}

// Label is the version for people: of the roundsman binary its version, of a binary
// with handlers of its own that one's name and version, and Roundsman's.
func Label() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version()
	}
	if name := own(info); name != "" {
		return name + ", roundsman " + Version()
	}
	return Version()
}

// Program is the name and the version of this binary.
func Program() string {
	label := Label()
	if label == Version() {
		return "roundsman " + label
	}
	return label
}

// own names a binary of another module, with its version if one was recorded; ""
// for ours.
func own(info *debug.BuildInfo) string {
	if info.Main.Path == modulePath || info.Path == "" {
		return ""
	}
	name := path.Base(info.Path)
	if version := release(info.Main.Version); version != "" {
		name += " " + version
	}
	return name
}

// recorded finds this module's version in a build record, or "" when the
// record has none worth showing.
func recorded(info *debug.BuildInfo) string {
	if info.Main.Path == modulePath {
		return release(info.Main.Version)
	}
	for _, dep := range info.Deps {
		if dep.Path != modulePath {
			continue
		}
		if dep.Replace != nil {
			return release(dep.Replace.Version)
		}
		return release(dep.Version)
	}
	return ""
}

// release drops the toolchain's word for "no version".
func release(version string) string {
	if version == "(devel)" {
		return ""
	}
	return version
}
