package bash_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/bash"
)

// hostile are values that break out of a script if they are inserted as text. PWNED is a file.
func hostile(pwned string) []string {
	return []string{
		"; touch " + pwned, "$(touch " + pwned + ")", "`touch " + pwned + "`", `"; touch ` + pwned + `; "`, `'; touch ` + pwned + `; '`,
		`'"'"'; touch ` + pwned, "x\ntouch " + pwned + "\n", "EOF\ntouch " + pwned, "${x:=$(touch " + pwned + ")}", "a[$(touch " + pwned + ")]",
		"| touch " + pwned, "&& touch " + pwned, "> " + pwned, "* ?", "a  b", `\`, `\"; touch ` + pwned, "-n", "", "!!", "~", "#", "}; touch " + pwned + " #",
	}
}

// places are scripts that print the value once, whole.
var places = []string{
	`printf %s {{.Params.x}}`,
	`printf %s "{{.Params.x}}"`,
	`printf %s pre{{.Params.x}}"post"`,
	"cat <<EOF\n{{.Params.x}}\nEOF",
	`x={{.Params.x}}; printf %s "$x"`,
	`x=$(printf %s {{.Params.x}}.); printf %s "${x%.}"`,
	"x=\"`printf %s {{.Params.x}}.`\"; printf %s \"${x%.}\"",
	`f() { local v={{.Params.x}}; printf %s "$v"; }; f`,
	`for v in {{.Params.x}}; do printf %s "$v"; done`,
	`case {{.Params.x}} in *) printf %s {{.Params.x}};; esac`,
	`[[ {{.Params.x}} == {{.Params.x}} ]] && printf %s {{.Params.x}}`,
	`a=([0]={{.Params.x}}); printf %s "${a[0]}"`,
	`bash -c 'printf %s "$1"' _ {{.Params.x}}`,
	`export V="{{.Params.x}}" # {{.Params.x}}
printf %s "$V"`,
	`cat <<< {{.Params.x}}`,
}

func TestAValueIsNeverAPartOfTheScript(t *testing.T) {
	t.Parallel()
	pwned := filepath.Join(t.TempDir(), "pwned")
	for _, place := range places {
		read, err := bash.Templated(place)
		require.NoError(t, err, place)
		assert.True(t, bash.Is(read.Argv))
		for _, value := range hostile(pwned) {
			command := exec.Command(read.Argv[0], read.Argv[1:]...)
			command.Env, command.Dir = []string{"PATH=" + os.Getenv("PATH")}, t.TempDir()
			for name := range read.Values {
				command.Env = append(command.Env, name+"="+value)
			}
			out, err := command.Output()
			require.NoError(t, err, "%s of %q: %s", place, value, read.Argv[4])
			want := value
			if strings.Contains(place, "pre{{") {
				want = "pre" + value + "post"
			}
			assert.Equal(t, want, strings.TrimSuffix(string(out), newline(place)), place)
			require.NoFileExists(t, pwned, "%s of %q", place, value)
		}
	}
}

// newline is added by a here-document.
func newline(place string) string {
	if strings.HasPrefix(place, "cat") {
		return "\n"
	}
	return ""
}

func TestPlacesThatWouldExecuteAValueAreRefused(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo ok\necho 'x {{.Params.x}}'":                `line 2 of the script: a value is not inserted between '…'`,
		"cat <<'EOF'\n{{.Params.x}}\nEOF":                `line 2 of the script: a value is not inserted`,
		`echo $'{{.Params.x}}'`:                          `not inserted`,
		`echo $(( {{.Params.x}} + 1 ))`:                  `arithmetic`,
		`(( n = {{.Params.x}} ))`:                        `arithmetic`,
		`let n={{.Params.x}}`:                            `arithmetic`,
		`for ((i=0; i<{{.Params.x}}; i++)); do :; done`:  `arithmetic`,
		`[[ {{.Params.x}} -gt 3 ]]`:                      `arithmetic`,
		`[[ -v {{.Params.x}} ]]`:                         `arithmetic`,
		`a[{{.Params.x}}]=1`:                             `arithmetic`,
		`declare -i n={{.Params.x}}`:                     `arithmetic`,
		`declare "{{.Params.x}}"`:                        `arithmetic`,
		`echo "${a[{{.Params.x}}]}"`:                     `part of ${…}`,
		`echo "${a:-{{.Params.x}}}"`:                     `part of ${…}`,
		`eval "echo {{.Params.x}}"`:                      `another shell`,
		`eval "$(echo {{.Params.x}})"`:                   `another shell`,
		`trap "rm {{.Params.x}}" EXIT`:                   `another shell`,
		`bash -c "echo {{.Params.x}}"`:                   `another shell`,
		`sudo -u x /bin/sh -ec "echo {{.Params.x}}"`:     `another shell`,
		`su - postgres -c "psql {{.Params.x}}"`:          `another shell`,
		`bash -ce "echo {{.Params.x}}"`:                  `another shell`,
		`bash -c -- "echo {{.Params.x}}"`:                `another shell`,
		`bash -c -eo pipefail "echo {{.Params.x}}"`:      `another shell`,
		`su postgres --command="psql {{.Params.x}}"`:     `another shell`,
		`printf -v {{.Params.x}} 1`:                      `another shell`,
		`{{if .Params.x}}echo{{end}}`:                    `use if and for of the script`,
		`{{$x := .Params.x}}echo`:                        `variable of the script`,
		`echo {{.Params.`:                                `not a valid template`,
		"echo ok\necho 'open":                            `line 2 of the script: bash would not read it`,
		"if true; then\necho":                            `bash would not read it`,
		"  \n":                                           `the script is empty`,
		"echo " + strings.Repeat("x", bash.MaxScript):    `install it on the nodes`,
		"cat <<EOF\n$(eval {{.Params.x}})\nEOF\n":        `another shell`,
		"command eval {{.Params.x}}":                     `another shell`,
		"x=$((1+$(echo {{.Params.x}})))":                 `arithmetic`,
		"unset {{.Params.x}}":                            `another shell`,
		`env A=1 bash -o pipefail -c "x {{.Params.x}} "`: `another shell`,
	} {
		_, err := bash.Templated(script)
		require.ErrorContains(t, err, want, script)
		var fault *bash.Fault
		assert.ErrorAs(t, err, &fault, script)
	}
}

func TestLiteralBracesAndPlainScripts(t *testing.T) {
	t.Parallel()
	read, err := bash.Templated("docker ps --format '{{`{{`}}.Names}}' {{.Params.x}}")
	require.NoError(t, err)
	assert.Equal(t, "docker ps --format '{{.Names}}' \"${ROUNDSMAN_VALUE_1}\"", read.Argv[4])
	assert.Equal(t, map[string]string{"ROUNDSMAN_VALUE_1": "{{.Params.x}}"}, read.Values)
	read, err = bash.Plain("docker ps --format '{{.Names}}'")
	require.NoError(t, err)
	assert.Equal(t, "docker ps --format '{{.Names}}'", read.Argv[4])
	assert.False(t, bash.Is([]string{"bash", "-c", "x"}))
}
