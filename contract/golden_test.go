package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/wire.txt again")

// wireTypes are all exported structs of the package, except errors and options, which never travel.
func wireTypes() []any {
	return []any{
		AddTasksInput{},
		AdmissionAmount{},
		AdmissionAnswer{},
		AdmissionEndings{},
		AdmissionFailure{},
		AdmissionFilter{},
		AdmissionGrant{},
		AdmissionHeld{},
		AdmissionHeldKey{},
		AdmissionHold{},
		AdmissionHolder{},
		AdmissionInput{},
		AdmissionItem{},
		AdmissionLane{},
		AdmissionLinkState{},
		AdmissionObject{},
		AdmissionPool{},
		AdmissionRefusal{},
		AdmissionRequest{},
		AdmissionStop{},
		AdmissionTaken{},
		AdmissionThing{},
		AdmissionUsage{},
		AdmissionUse{},
		AdmissionView{},
		AdoptAuditInput{},
		AdoptAuditResult{},
		AfterRule{},
		Artifact{},
		ArtifactQueryInput{},
		ArtifactQueryResult{},
		AskHoldersInput{},
		AskHoldersResult{},
		AttemptQueryInput{},
		AttemptQueryResult{},
		AuditEntry{},
		AuditFilter{},
		AuditInput{},
		AuditOrigin{},
		AuditPage{},
		AuditRecord{},
		AuditTrailState{},
		BatchSpec{},
		CallAdmissionResult{},
		CancelItemInput{},
		CancelItemResult{},
		CancelRunInput{},
		Capability{},
		ClassRun{},
		CleanupWorkersInput{},
		CleanupWorkersResult{},
		ClosePagesInput{},
		Closure{},
		CompileDAGInput{},
		ConfigureFleetInput{},
		ControlPlane{},
		Count{},
		DAGCarry{},
		DAGChanged{},
		DAGInput{},
		DAGLane{},
		DAGResult{},
		DAGSource{},
		DAGStatus{},
		DAGTask{},
		DecideTaskInput{},
		DedupedProposal{},
		DeliverResult{},
		Delivery{},
		DeliveryView{},
		DetectActivityInput{},
		DetectActivityResult{},
		DetectPageInput{},
		DetectPageResult{},
		DroppedCheckpoints{},
		DurableResult{},
		EnsureAdmissionInput{},
		EnsureFleetInput{},
		EntityEndInput{},
		EntityEndResult{},
		ExecuteInput{},
		ExecuteState{},
		ExplainQueryInput{},
		ExplainQueryResult{},
		FieldChange{},
		FleetConfig{},
		FleetHandler{},
		FleetInput{},
		FleetView{},
		ForgiveInput{},
		GiveUpInput{},
		GroupCounts{},
		GroupPhase{},
		GroupStatus{},
		GroupWindow{},
		GroupWorker{},
		HandlersQueryResult{},
		Heartbeat{},
		HoldFault{},
		HoldResult{},
		HoldsInput{},
		HoldsResult{},
		Incarnation{},
		Inherited{},
		ItemRecord{},
		ItemRefusal{},
		JobClass{},
		JobError{},
		JobGroupInput{},
		JobGroupResult{},
		JobGroupState{},
		JobOutcomeInput{},
		JobTypeSpec{},
		JobView{},
		JobWork{},
		JobsQueryInput{},
		JobsQueryResult{},
		KeptCheckpoint{},
		KeyHolderInput{},
		KeyHolderResult{},
		KeyResult{},
		LaneGrant{},
		LaneReport{},
		LaneUsage{},
		LogQueryInput{},
		LogQueryResult{},
		LookUpJobTypeInput{},
		LookUpJobTypeResult{},
		MarkDoneInput{},
		MissedWorker{},
		Notice{},
		Notification{},
		NotificationsInput{},
		NotificationsView{},
		NotifyQueueState{},
		NotifyReceiverState{},
		NotifyRule{},
		ObserveWorkersInput{},
		ObserveWorkersResult{},
		OperateWorkerInput{},
		Pace{},
		PageInput{},
		PastGrant{},
		PastGrants{},
		PastGrantsFilter{},
		PauseInput{},
		PoolUsage{},
		PrepareInput{},
		PrepareResult{},
		ProbeWorkerInput{},
		ProbeWorkerResult{},
		ProposalPage{},
		ProposalRef{},
		ProposalRun{},
		ProposalTable{},
		ReEnableInput{},
		ReadKeysInput{},
		ReceiverHealth{},
		ReceiverInfo{},
		ReceiverView{},
		RecordAuditInput{},
		RecordPage{},
		RegisterWorkerResult{},
		RegisteredOther{},
		ResizePoolInput{},
		ResizeWorkerInput{},
		RetryBudget{},
		RetryBudgetRule{},
		RetryTasksInput{},
		RunCommon{},
		RunRecord{},
		RunSummary{},
		ScheduleSpec{},
		ServerAwayInput{},
		SetCalendarInput{},
		SetConcurrencyInput{},
		SetPolicyInput{},
		SetPolicyResult{},
		StandingInput{},
		StandingResult{},
		StatePages{},
		Submission{},
		SucceededInput{},
		SucceededSignal{},
		SuccessesInput{},
		SuccessesResult{},
		TaskBudget{},
		TaskEnding{},
		TaskInput{},
		TaskView{},
		TasksQueryInput{},
		TasksQueryResult{},
		Termination{},
		TestNotificationInput{},
		TestNotificationResult{},
		ThresholdsResult{},
		TickCounts{},
		Usual{},
		ValueSeries{},
		Values{},
		WaitReason{},
		WatchEventsInput{},
		WatchEventsResult{},
		WatchFleetInput{},
		WatchHoldersResult{},
		WindowSpan{},
		WindowsInput{},
		WindowsResult{},
		WorkerCaps{},
		WorkerDetail{},
		WorkerJob{},
		WorkerProcess{},
		WorkerPulse{},
		WorkerRegistration{},
		WorkerRejection{},
		WorkerReport{},
		WorkerRoomInput{},
		WorkerSettings{},
		WorkerTransition{},
		WorkerTrouble{},
		WorkerTroubleInput{},
		WorkerUsage{},
		WorkerUsageSpan{},
		WorkerView{},
		WorkersQueryInput{},
		WorkersQueryResult{},
	}
}

// TestWireFormatIsTheGoldenOne prevents accidental changes of the wire format and of recorded
// histories.
func TestWireFormatIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	var listed []string
	for _, one := range wireTypes() {
		value := reflect.New(reflect.TypeOf(one)).Elem()
		fill(value, value.Type().Name(), 0)
		encoded, err := json.MarshalIndent(value.Interface(), "", "  ")
		require.NoError(t, err)
		name := value.Type().Name()
		listed = append(listed, name)
		fmt.Fprintf(&text, "%s %s\n", name, encoded)
	}
	assert.Equal(t, exportedStructs(t), listed, "wireTypes lists every exported struct, in order")
	const golden = "testdata/wire.txt"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(golden, text.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "the JSON of a wire type has changed; if that is meant: go test ./contract -run Golden -update")
}

// exportedStructs reads the package's own source.
func exportedStructs(t *testing.T) []string {
	t.Helper()
	parsed, err := parser.ParseDir(token.NewFileSet(), ".", func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }, 0) //nolint:staticcheck // build tags do not matter here
	require.NoError(t, err)
	var names []string
	for _, file := range parsed["contract"].Files {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, each := range general.Specs {
				spec, ok := each.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() {
					continue
				}
				if _, ok := spec.Type.(*ast.StructType); ok && spec.TypeParams == nil {
					names = append(names, spec.Name.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// maxDepth keeps recursive types finite.
const maxDepth = 6

// fill gives every field that can be set a value made from its name, so that a new
// field changes no line but its own.
func fill(v reflect.Value, name string, depth int) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	number := int64(hash.Sum32() % 100)
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(1_700_000_000+number, 0).UTC()
		return
	case *json.RawMessage:
		*at = fmt.Appendf(nil, `{"raw":%q}`, name)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number) + 1) //nolint:gosec // it is below 100
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(number) + 0.5)
	case reflect.String:
		v.SetString(name)
	case reflect.Pointer:
		if depth < maxDepth {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), name, depth+1)
		}
	case reflect.Slice:
		if depth < maxDepth {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), name, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, name+" key", depth+1)
		fill(value, name, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fill(v.Field(i), field.Name, depth+1)
			}
		}
	}
}
