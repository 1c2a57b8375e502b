package cli

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// shown is an action of the console with its lines for a shell, from the output of web/test/lines.mjs.
type shown struct {
	Name, Method, Path, Roundsman, Temporal, None, Curl string
	Body                                                any
}

// TestLinesOfTheConsole: each button has its line for roundsman, curl and Temporal's own command line, or the
// reason why not. A shell parses the lines as intended, and the three programs accept them.
func TestLinesOfTheConsole(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: no Node.js")
	}
	web := filepath.Join("..", "..", "web")
	if _, err := os.Stat(filepath.Join(web, "node_modules", "vite")); err != nil {
		t.Skip("skipped: web/node_modules has no vite: run make web")
	}
	command := exec.CommandContext(t.Context(), node, "test/lines.mjs")
	command.Dir = web
	output, err := command.Output()
	require.NoError(t, err)
	var actions []shown
	require.NoError(t, json.Unmarshal(output, &actions))
	require.Greater(t, len(actions), 50)
	root, api := (&commands{&ui.Program{}}).root(), readAPI(t)
	for _, action := range actions {
		assertRoundsman(t, root, action)
		assertTemporal(t, action)
		api.assertCurl(t, action)
		if action.Name == "rotateKey" { // The API gives the new key the time to live of the old one.
			assert.Contains(t, action.Roundsman, " --expires 30d ")
		}
	}
}

// TestActionsAreInTheTable: all buttons are made in web/src/acts, because the table of web/test/lines.mjs has
// no others.
func TestActionsAreInTheTable(t *testing.T) {
	t.Parallel()
	made := regexp.MustCompile(`roundsman[:=]`)
	pages, err := filepath.Glob("../../web/src/*/*.ts*")
	require.NoError(t, err)
	more, err := filepath.Glob("../../web/src/*.ts*")
	require.NoError(t, err)
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		if filepath.Base(filepath.Dir(page)) != "acts" && filepath.Base(page) != "action.tsx" {
			assert.NotRegexp(t, made, string(text), "%s makes an action: move it to web/src/acts", page)
		}
	}
	assert.Greater(t, len(pages), 20)
}

// spoken returns the words of the commands in a line, as a shell reads them.
func spoken(t *testing.T, line string) [][]string {
	t.Helper()
	script := ""
	for _, name := range []string{"roundsman", "temporal", "curl"} {
		script += name + `() { printf '%s\0' ` + name + ` "$@"; printf '\1'; }; `
	}
	output, err := exec.CommandContext(t.Context(), "sh", "-c", script+"\n"+line).Output()
	require.NoError(t, err, line)
	var all [][]string
	for command := range strings.SplitSeq(strings.TrimSuffix(string(output), "\x01"), "\x01") {
		all = append(all, strings.Split(strings.TrimSuffix(command, "\x00"), "\x00"))
	}
	return all
}

func assertRoundsman(t *testing.T, root *cli.Command, action shown) {
	t.Helper()
	for _, words := range spoken(t, action.Roundsman) {
		line, err := arrange(root, words[1:])
		if assert.NoError(t, err, action.Roundsman) {
			assertArguments(t, line, action.Roundsman, true)
			assertVisible(t, line, action.Name)
		}
	}
}

// told returns an empty input for a message of the console.
func told(name string) any {
	switch name {
	case contract.UpdateCancelItem:
		return &contract.CancelItemInput{}
	case contract.SignalCancelRun:
		return &contract.CancelRunInput{}
	case contract.SignalPause, contract.SignalResume:
		return &contract.PauseInput{}
	case contract.UpdateOperateWorker:
		return &contract.OperateWorkerInput{}
	case contract.UpdateResizeWorker:
		return &contract.ResizeWorkerInput{}
	case contract.UpdateCleanupWorkers:
		return &contract.CleanupWorkersInput{}
	case contract.UpdateResizePool:
		return &contract.ResizePoolInput{}
	case contract.UpdateReEnable:
		return &contract.ReEnableInput{}
	case contract.UpdateForgive:
		return &contract.ForgiveInput{}
	case contract.UpdateApprove, contract.UpdateReject:
		return &contract.DecideTaskInput{}
	case contract.UpdateSkipTask, contract.UpdateRerunTask:
		return &contract.TaskInput{}
	case contract.UpdateAddTasks:
		return &contract.AddTasksInput{}
	case contract.UpdateRelease:
		return &struct{}{}
	default:
		return nil
	}
}

func assertTemporal(t *testing.T, action shown) {
	t.Helper()
	if action.Temporal == "" {
		assert.NotEmpty(t, action.None, "%s says why Temporal's own command line cannot do it", action.Name)
		return
	}
	words := spoken(t, action.Temporal)[0]
	flag := func(name string) string {
		at := slices.Index(words, name)
		if at < 0 || at+1 == len(words) {
			return ""
		}
		return words[at+1]
	}
	verb := strings.Join(words[1:3], " ")
	switch verb {
	case "schedule toggle", "schedule trigger", "schedule backfill":
		assert.Equal(t, "jobtype/scrub", flag("--schedule-id"), action.Temporal)
	case "workflow cancel":
		assert.NotEmpty(t, flag("--workflow-id"), action.Temporal)
	case "workflow signal", "workflow update":
		assert.NotEmpty(t, flag("--workflow-id"), action.Temporal)
		input := told(flag("--name"))
		require.NotNil(t, input, "no message for people: %s", action.Temporal)
		decoder := json.NewDecoder(strings.NewReader(flag("--input") + "{}"))
		decoder.DisallowUnknownFields()
		assert.NoError(t, decoder.Decode(input), action.Temporal)
	default:
		assert.Fail(t, "no command of Temporal's", action.Temporal)
	}
}

// described is docs/openapi.yaml.
type described struct {
	schemas *jsonschema.Compiler
	// paths has the operations' paths, those without a name in braces first.
	paths   []string
	methods map[string]map[string]any
}

func readAPI(t *testing.T) described {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(text, &document))
	encoded, err := json.Marshal(document)
	require.NoError(t, err)
	resource, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	api := described{schemas: jsonschema.NewCompiler(), methods: map[string]map[string]any{}}
	api.schemas.AssertFormat()
	require.NoError(t, api.schemas.AddResource("api.json", resource))
	paths, _ := document["paths"].(map[string]any)
	for path, methods := range paths {
		api.paths = append(api.paths, path)
		api.methods[path], _ = methods.(map[string]any)
	}
	slices.SortFunc(api.paths, func(a, b string) int { return strings.Count(a, "{") - strings.Count(b, "{") })
	return api
}

// assertCurl compares the request with its operation in the API.
func (api described) assertCurl(t *testing.T, action shown) {
	t.Helper()
	words := spoken(t, action.Curl)[0]
	address, err := url.Parse(words[len(words)-1])
	require.NoError(t, err, action.Curl)
	_, asked, _ := strings.Cut(address.EscapedPath(), "/api/v1")
	method, typed := words[slices.Index(words, "-X")+1], words[slices.Index(words, "-d")+1]
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(typed))
	require.NoError(t, err, action.Curl)
	assert.Equal(t, action.Method, method)
	named := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, path := range api.paths {
		pattern := regexp.MustCompile("^" + named.ReplaceAllString(path, "[^/]+") + "$")
		operation, _ := api.methods[path][strings.ToLower(method)].(map[string]any)
		if operation == nil || !pattern.MatchString(asked) {
			continue
		}
		if operation["requestBody"] == nil {
			assert.Empty(t, body, "%s takes no body: %s", path, action.Curl)
			return
		}
		pointer := "/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method) + "/requestBody/content/application~1json/schema"
		schema, err := api.schemas.Compile("api.json#" + (&url.URL{Path: pointer}).EscapedPath())
		require.NoError(t, err)
		assert.NoError(t, schema.Validate(body), action.Curl)
		return
	}
	assert.Fail(t, "no operation of the API", action.Curl)
}
