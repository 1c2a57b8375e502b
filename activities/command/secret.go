package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/commandlint"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/mask"
	"github.com/roundsman/roundsman/internal/lib/plainfile"
	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	maxSecretBytes = 64 << 10
	secretTimeout  = 30 * time.Second
)

// credentialsVariable is where systemd keeps the credentials of a unit.
const credentialsVariable = "CREDENTIALS_DIRECTORY"

func (p program) resolveEnv(ctx context.Context) ([]string, *mask.Masker, error) {
	var variables, secrets []string
	for _, key := range slices.Sorted(maps.Keys(p.launch.Env)) {
		value := p.launch.Env[key]
		text := value.Text
		if value.Secret() {
			var err error
			if text, err = p.secret(ctx, value); err != nil {
				return nil, nil, &startError{
					err:  fmt.Errorf("SECRET: env.%s: %s", key, mask.New(secrets).Text(err.Error())), // Its cause is not masked.
					shim: isAny(err, exhausted()) || errors.Is(err, jobtype.ErrCannotStart),
				}
			}
			secrets = append(secrets, text)
		}
		variables = append(variables, key+"="+text)
	}
	fromFiles, err := readEnvFiles(p.launch.EnvFile)
	if err != nil {
		return nil, nil, err
	}
	for _, variable := range fromFiles {
		if key, value, _ := strings.Cut(variable, "="); commandlint.Verbatim(key, value) {
			secrets = append(secrets, value)
		}
	}
	return append(variables, fromFiles...), mask.New(secrets), nil
}

func (p program) secret(ctx context.Context, value launch.Value) (string, error) {
	var text string
	var err error
	switch {
	case value.File != "":
		if text, err = plainfile.Read(value.File, maxSecretBytes); err != nil {
			err = fmt.Errorf("%s: %w", value.File, err)
		}
	case value.Credential != "":
		text, err = readCredential(value.Credential)
	default:
		text, err = p.printed(ctx, value.Command)
	}
	text = strings.TrimRight(text, "\r\n")
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("the secret is empty")
	case strings.ContainsRune(text, 0):
		return "", errors.New("the secret has a NUL byte, which no variable can hold")
	}
	return text, nil
}

func readCredential(name string) (string, error) {
	directory := os.Getenv(credentialsVariable)
	switch {
	case directory == "":
		return "", fmt.Errorf("credential %s: this worker has none: write LoadCredential=%s:PATH in its unit", name, name)
	case name != filepath.Base(name):
		return "", fmt.Errorf("credential %q is no name", name)
	}
	text, err := plainfile.Read(filepath.Join(directory, name), maxSecretBytes)
	if err != nil {
		return "", fmt.Errorf("credential %s: %w: write LoadCredential=%s:PATH in the unit of this worker", name, err, name)
	}
	return text, nil
}

func (p program) printed(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, secretTimeout, fmt.Errorf("no secret within %s", secretTimeout))
	defer cancel()
	var output []byte
	errorOutput := tail.New(stderrKept)
	reading := program{
		argv: argv, inherited: p.inherited, own: p.own, killGrace: time.Second, outputGrace: p.outputGrace,
		watcher: p.watcher, ledger: p.ledger, owner: p.owner, shim: p.shim, cgroups: p.cgroups,
	}.with(func(stdout io.Reader) (err error) {
		if output, err = io.ReadAll(io.LimitReader(stdout, maxSecretBytes+1)); err == nil && len(output) > maxSecretBytes {
			err = fmt.Errorf("the secret has more than %d bytes", maxSecretBytes)
		}
		return err
	}, errorOutput)
	outcome, err := reading.run(ctx)
	err = cmp.Or(err, context.Cause(ctx)) // Its end may have cut the output.
	masker := mask.New([]string{strings.TrimRight(string(output), "\r\n")})
	switch {
	case err != nil:
		return "", failure(argv[0], err)
	case outcome.code != 0 || outcome.signal != "":
		return "", errors.New(masker.Text(describe(argv[0], outcome, errorOutput.Text(), "").Error()))
	}
	return string(output), nil
}
