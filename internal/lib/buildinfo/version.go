package buildinfo

import (
	"cmp"
	"path"
	"runtime/debug"
)

// modulePath is Roundsman's module, also as a dependency of a binary with its own handlers.
const modulePath = "github.com/roundsman/roundsman"

// unknown is the version of a build without one, e.g. `go run` in a working tree.
const unknown = "dev"

// The Makefile passes `-X github.com/roundsman/roundsman/internal/lib/buildinfo.stamped=$(git describe)`.
var stamped string //nolint:gochecknoglobals // the linker can only write to a package variable

// Version returns the stamp of `make build`, else the version recorded by the Go toolchain, else "dev".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return cmp.Or(stamped, recorded(info), unknown)
}

// Label returns the version for people. A binary with its own handlers has its own name and version first.
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

// Program returns the name and the version of this binary.
func Program() string {
	label := Label()
	if label == Version() {
		return "roundsman " + label
	}
	return label
}

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

// release removes the toolchain's "(devel)".
func release(version string) string {
	if version == "(devel)" {
		return ""
	}
	return version
}
