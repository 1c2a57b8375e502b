package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/activities/command/shim"
	"github.com/roundsman/roundsman/internal/lib/launch"
)

// lookUpTimeout is for a directory service that hangs.
const lookUpTimeout = 10 * time.Second

var errNoUser = errors.New("NO_USER")

type account struct {
	UID, GID int
	Groups   []int
	// Name is empty if only groups are changed, or if the number has no name.
	Name, Home, Shell string
	named             bool
}

// accountOf returns the account of a program, nil if it is that of the worker. An error is a *startError.
func accountOf(ctx context.Context, spec launch.Spec) (*account, error) {
	if !spec.SwitchesUser() {
		return nil, nil //nolint:nilnil // nil means that nothing is changed
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	a, err := lookUp(ctx, spec)
	if err != nil {
		return nil, &startError{err: err, permanent: errors.Is(err, errNoUser)}
	}
	if !a.isOwn() && !shim.MaySwitch() {
		return nil, &startError{permanent: true, err: fmt.Errorf(
			"NOT_ALLOWED: this worker may not switch to %s: set AmbientCapabilities=CAP_SETUID CAP_SETGID CAP_KILL in its unit", spec.Describe())}
	}
	return a, nil
}

// lookUp finds the numbers of users and groups, with all groups of the user as initgroups has them.
func lookUp(ctx context.Context, spec launch.Spec) (*account, error) {
	a := &account{UID: os.Geteuid(), GID: os.Getegid(), named: spec.User != ""}
	var err error
	if a.named {
		if err = a.lookUpUser(ctx, spec.User, spec.Group != ""); err != nil {
			return nil, err
		}
	} else if a.Groups, err = os.Getgroups(); err != nil {
		return nil, err
	}
	if spec.Group != "" {
		if a.GID, err = lookUpGroup(ctx, spec.Group); err != nil {
			return nil, err
		}
	}
	for _, name := range spec.Groups {
		gid, err := lookUpGroup(ctx, name)
		if err != nil {
			return nil, err
		}
		a.Groups = append(a.Groups, gid)
	}
	slices.Sort(a.Groups)
	a.Groups = slices.Compact(a.Groups)
	return a, nil
}

// A number without a name needs a group in the configuration.
func (a *account) lookUpUser(ctx context.Context, name string, grouped bool) error {
	number, numeric := idOf(name)
	found, err := user.Lookup(name)
	if err != nil && numeric == nil {
		found, err = user.LookupId(name)
	}
	if err != nil {
		found, err = nssUser(ctx, name)
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("look up user %s: %w", name, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("look up user %s: %w", name, err)
	case found != nil:
	case numeric == nil && grouped:
		a.UID, a.Home = number, "/"
		return nil
	case numeric == nil:
		return fmt.Errorf("%w: this node has no user number %s: name its group, too", errNoUser, name)
	default:
		return fmt.Errorf("%w: this node has no user %s: create it, or restrict the job type by labels", errNoUser, name)
	}
	uid, uidErr := idOf(found.Uid)
	gid, gidErr := idOf(found.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return fmt.Errorf("%w: user %s has no number on this system: %w", errNoUser, name, err)
	}
	a.UID, a.GID, a.Name, a.Home, a.Shell = uid, gid, found.Username, found.HomeDir, shellOf(ctx, found.Username)
	a.Groups, err = groupsOf(ctx, found)
	return err
}

// The program `id` also reads the groups of a directory service, which a static binary does not.
func groupsOf(ctx context.Context, of *user.User) ([]int, error) {
	var words []string
	if output, err := exec.CommandContext(ctx, "id", "-G", "--", of.Username).Output(); err == nil { //nolint:gosec // the name of a user
		words = strings.Fields(string(output))
	} else if words, err = of.GroupIds(); err != nil {
		return nil, fmt.Errorf("groups of user %s: %w", of.Username, err)
	}
	groups := make([]int, 0, len(words))
	for _, word := range words {
		gid, err := idOf(word)
		if err != nil {
			return nil, fmt.Errorf("groups of user %s: %w", of.Username, err)
		}
		groups = append(groups, gid)
	}
	return groups, nil
}

// idOf refuses numbers that the kernel would ignore or truncate: the program would run as the worker, or as root.
func idOf(text string) (int, error) {
	number, err := strconv.ParseUint(text, 10, 32)
	if err == nil && number == math.MaxUint32 {
		err = strconv.ErrRange
	}
	return int(number), err //nolint:gosec // at most 32 bits
}

func lookUpGroup(ctx context.Context, name string) (int, error) {
	if number, err := idOf(name); err == nil {
		return number, nil
	}
	if found, err := user.LookupGroup(name); err == nil {
		return idOf(found.Gid)
	}
	fields, err := nss(ctx, "group", name)
	switch {
	case err != nil:
		return 0, fmt.Errorf("look up group %s: %w", name, err)
	case len(fields) > 2:
		return idOf(fields[2])
	}
	return 0, fmt.Errorf("%w: this node has no group %s: create it, or restrict the job type by labels", errNoUser, name)
}

// nss returns the entry of a database of the name service, nil if there is none. getent itself drops excess bits of a
// number, and would find root. An error means that getent did not run.
func nss(ctx context.Context, database, name string) ([]string, error) {
	if _, err := idOf(name); err != nil && strings.Trim(name, " +-0123456789") == "" {
		return nil, nil
	}
	output, err := exec.CommandContext(ctx, "getent", "--", database, name).Output() //nolint:gosec // the name of a user or group
	if isAny(err, exhausted()) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // there is no such entry
	}
	line, _, _ := strings.Cut(string(output), "\n")
	return strings.Split(line, ":"), nil
}

const passwdFields = 7

func nssUser(ctx context.Context, name string) (*user.User, error) {
	fields, err := nss(ctx, "passwd", name)
	if len(fields) < passwdFields {
		return nil, err
	}
	return &user.User{Username: fields[0], Uid: fields[2], Gid: fields[3], HomeDir: fields[5]}, nil
}

func shellOf(ctx context.Context, name string) string {
	if fields, _ := nss(ctx, "passwd", name); len(fields) >= passwdFields {
		return fields[passwdFields-1]
	}
	return ""
}

func (a *account) isOwn() bool {
	own, err := os.Getgroups()
	if err != nil || a.UID != os.Geteuid() || a.GID != os.Getegid() {
		return false
	}
	return !slices.ContainsFunc(a.Groups, func(gid int) bool { return gid != a.GID && !slices.Contains(own, gid) })
}

// without drops variables of the log-in of the worker's user.
func (a *account) without(inherited []string) []string {
	if a == nil || !a.named {
		return inherited
	}
	return slices.DeleteFunc(slices.Clone(inherited), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "HOME", "USER", "LOGNAME", "SHELL", "MAIL", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS":
			return true
		}
		return false
	})
}

func (a *account) environment() []string {
	if a == nil || !a.named {
		return nil
	}
	env := []string{"HOME=" + a.Home}
	if a.Name != "" {
		env = append(env, "USER="+a.Name, "LOGNAME="+a.Name)
	}
	if a.Shell != "" {
		env = append(env, "SHELL="+a.Shell)
	}
	return env
}

// home resolves "~", the home directory.
func (a *account) home(dir string) string {
	switch {
	case dir != "~":
		return dir
	case a != nil && a.named:
		return a.Home
	}
	own, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return own
}
