package config

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of the configuration file, for editors, with the schemas of the
// given handlers. Load checks more.
func Schema(handlers []jobtype.Descriptor) ([]byte, error) {
	document := object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "Roundsman configuration",
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"version"},
		"properties": object{
			"version":   object{"const": Version},
			"owner":     described("string", "distinguishes this configuration from others in the same namespace: apply leaves the job types of other owners alone"),
			"temporal":  temporalSchema(),
			"lanes":     named(laneSchema()),
			"resources": named(object{"type": "integer", "minimum": 1, "maximum": maxResource}),
			"cluster":   object{"type": "object", "description": "handed to every detector and executor"},
			"fleet":     fleetSchema(),
			"audit": closed(object{"entries": object{
				"type": "integer", "minimum": minAuditEntries, "maximum": maxAuditEntries,
				"description": "how many of the newest entries the audit log keeps; default 4000",
			}}),
			"retention": closed(object{
				"runs":  duration("how long runs are kept after their end, where the namespace keeps them for longer; at least 1h; default: as the namespace does"),
				"audit": duration("how long the audit log keeps an entry at most; at least 1h; default: as long as audit.entries allows"),
			}),
			"access":    accessSchema(),
			"notify":    notifySchema(),
			"defaults":  closed(withProgram(object{}, launch.Keys())),
			"job_types": named(object{"$ref": "#/$defs/job_type"}),
		},
		"$defs": object{
			"duration": durationSchema(),
			"job_type": jobTypeSchema(handlers),
		},
	}
	encoded, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of the configuration: %w", err)
	}
	return append(encoded, '\n'), nil
}

// EntrySchema returns the JSON Schema of one job type of a handler, for a form. A descriptor without a name is that
// of a DAG. Defaults that depend on other settings come from the effective policy.
func EntrySchema(handler jobtype.Descriptor, effective jobtype.Policy) ([]byte, error) {
	schema := jobTypeSchema(nil)
	properties, _ := schema["properties"].(object)
	policy, _ := properties["policy"].(object)["properties"].(object)
	for _, alias := range []string{"retries", "timeout", "concurrency"} {
		delete(policy, alias)
	}
	values := reflect.ValueOf(effective)
	for _, s := range policySettings() {
		setting, _ := policy[s.key].(object)
		if _, usual := setting["default"]; !usual && !values.Field(s.index).IsZero() {
			setting["default"] = values.Field(s.index).Interface()
		}
	}
	if handler.Name == "" {
		for _, key := range append([]string{"retries"}, handlerSettings...) {
			delete(policy, key)
		}
		for _, key := range []string{"handler", "detect", "execute", "batch"} {
			delete(properties, key)
		}
	} else {
		delete(properties, "dag")
		defaults := reflect.ValueOf(handler.DefaultPolicy)
		for _, s := range policySettings() {
			if value := defaults.Field(s.index); !value.IsZero() {
				described, _ := policy[s.key].(object) // Made above.
				described["default"] = value.Interface()
			}
		}
		for key, block := range blocksSchema(handler) {
			if shown, is := block.(bool); is && !shown {
				delete(properties, key)
				continue
			}
			properties[key] = block
		}
	}
	delete(properties, "enabled")
	encoded, err := json.Marshal(object{"type": "object", "properties": properties, "$defs": object{"duration": durationSchema()}})
	if err != nil {
		return nil, fmt.Errorf("encode the schema of a job type: %w", err)
	}
	return encoded, nil
}

func durationSchema() object {
	return object{"type": "string", "pattern": `^\s*(\d+(\.\d+)?(d|h|m|s|ms|us|µs|ns))+\s*$`, "examples": []string{"45s", "30m", "2h30m", "7d"}}
}

func closed(properties object) object {
	return object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
}

func named(of object) object {
	return object{
		"type":                 []string{"object", "null"},
		"propertyNames":        object{"pattern": `^[a-z0-9][a-z0-9_-]{0,62}$`},
		"additionalProperties": of,
	}
}

func described(kind, text string) object { return object{"type": kind, "description": text} }

func duration(text string) object {
	return object{"$ref": "#/$defs/duration", "description": text}
}

func temporalSchema() object {
	return closed(object{
		"address":     described("string", "host:port of the Temporal frontend; default 127.0.0.1:7233"),
		"namespace":   described("string", "default: default"),
		"api_key":     described("string", "prefer the variable TEMPORAL_API_KEY"),
		"compression": object{"enum": []string{"none", "gzip"}, "description": "of requests; default none; gzip is for thin links"},
		"tls": closed(object{
			"disabled":    described("boolean", "no TLS although an API key is set"),
			"cert":        described("string", "path of the client's certificate"),
			"key":         described("string", "path of the client's key"),
			"ca":          described("string", "path of the server's authority; default: the system's"),
			"server_name": described("string", "the name that the server's certificate must carry"),
		}),
	})
}

func fleetSchema() object {
	return closed(object{
		"heartbeat_interval": duration("how often workers beat; default 5s"),
		"unreachable_after":  duration("no new jobs after this silence; default 2m"),
		"offline_after":      duration("running jobs are placed elsewhere after this silence; default three times unreachable_after"),
		"delete_after":       duration("the worker is forgotten after this silence; default 24h, or four times offline_after"),
	})
}

func jobTypeSchema(handlers []jobtype.Descriptor) object {
	names := make([]string, len(handlers))
	conditions := make([]object, len(handlers))
	for i, handler := range handlers {
		names[i] = handler.Name
		conditions[i] = object{
			"if":   object{"properties": object{"handler": object{"const": handler.Name}}, "required": []string{"handler"}},
			"then": handlerSchema(handler),
		}
	}
	schema := object{
		"type":                 "object",
		"additionalProperties": false,
		"oneOf":                []object{{"required": []string{"handler"}}, {"required": []string{"dag"}}},
		"dependentSchemas":     object{"dag": scheduled()},
		"properties": object{
			"handler":             object{"type": "string", "examples": names},
			"dag":                 described("string", "the file of a DAG that the job type runs instead of a handler, at or below the folder of this file"),
			"detect_on":           object{"enum": []string{"one", "every"}, "description": "where detections run; with every, each worker does its own findings; default one"},
			"approvals_keep_lane": described("boolean", "keeps the lane while the DAG waits for approvals; default false"),
			"each_worker":         described("boolean", "each worker has one job, and nothing is detected"),
			"labels":              object{"type": "object", "additionalProperties": object{"type": []string{"string", "number", "boolean"}}, "description": "restricts detect_on: every and each_worker to the workers that have them"},
			"description":         described("string", "shown to operators and in the Temporal Web UI"),
			"enabled":             described("boolean", "false pauses the Schedule; default true"),
			"lane":                described("string", "one of lanes, which job groups take turns in; default: none, the groups run beside all others"),
			"schedule":            scheduleSchema(),
			"windows":             windowsSchema(),
			"blackouts":           blackoutsSchema(),
			"after": object{"type": "object", "description": "job types of this configuration that must have succeeded before a run begins", "additionalProperties": object{
				"type": "object", "additionalProperties": false, "required": []string{"succeeded_within"},
				"properties": object{"succeeded_within": duration("how old the other's last success may be when the run starts")},
			}},
			"run_if_not_succeeded_for": duration("a tick is skipped if the last success is younger"),
			"policy":                   policySchema(),
			"resources":                object{"type": "object", "additionalProperties": object{"type": "integer", "minimum": 1, "maximum": maxResource}, "description": "the minimum of each job from pools"},
			"retry_budget":             budgetSchema(),
			"notify":                   notifyRulesSchema(),
			"batch":                    batchSchema(),
			"params":                   described("object", "checked by the handler"),
			"detect":                   described("object", "checked by the handler"),
			"execute":                  described("object", "checked by the handler"),
		},
	}
	if len(conditions) > 0 {
		schema["allOf"] = conditions
	}
	return schema
}

func scheduled() object {
	return object{
		"required":   []string{"schedule"},
		"properties": object{"schedule": object{"anyOf": []object{{"required": []string{"every"}}, {"required": []string{"cron"}}}}},
	}
}

// handlerSchema describes the job types of a handler: its blocks and its defaults.
func handlerSchema(handler jobtype.Descriptor) object {
	properties := blocksSchema(handler)
	origin := "default of handler " + handler.Name
	policy := object{}
	defaults := reflect.ValueOf(handler.DefaultPolicy)
	for _, s := range policySettings() {
		if value := defaults.Field(s.index); !value.IsZero() {
			policy[s.key] = object{"default": value.Interface(), "description": origin}
		}
	}
	if len(policy) > 0 {
		properties["policy"] = object{"properties": policy}
	}
	schema := object{"properties": properties}
	if handler.DefaultInterval > 0 {
		properties["schedule"] = object{"properties": object{"every": object{"default": handler.DefaultInterval, "description": origin}}}
		return schema
	}
	return object{"allOf": []object{schema, scheduled()}}
}

func blocksSchema(handler jobtype.Descriptor) object {
	blocks := object{"detect": false, "execute": false}
	for key, schema := range map[string]json.RawMessage{
		"params": handler.Params, "detect": handler.DetectSettings, "execute": handler.ExecuteSettings,
	} {
		if len(schema) > 0 {
			blocks[key] = resource(schema, handler.Name+"/"+key)
		}
	}
	return blocks
}

// Its own $id keeps the references "#/…" of a schema valid inside another document.
func resource(schema json.RawMessage, id string) any {
	var document map[string]any
	if json.Unmarshal(schema, &document) != nil {
		return schema
	}
	if _, named := document["$id"]; !named {
		document["$id"] = id
	}
	return document
}

func scheduleSchema() object {
	text := object{"type": "string"}
	return object{
		"type":                 "object",
		"additionalProperties": false,
		"not":                  object{"required": []string{"every", "cron"}},
		"properties": object{
			"every":           duration("the interval, counted from 1970-01-01 UTC; without it and cron the handler's default"),
			"offset":          duration("shifts an interval; shorter than every"),
			"spread":          object{"enum": []string{spreadByName, spreadNone}, "description": "name (default): without an offset the ticks are shifted by a time that depends on the job type's name; none: they are at full intervals"},
			"cron":            object{"description": "five fields each, or @daily and the like", "anyOf": []object{text, {"type": "array", "items": text, "minItems": 1, "maxItems": maxCrons}}},
			"days":            object{"description": "the days of cron, as in windows: last, first sun, \"15\", \"-2\"", "anyOf": []object{text, {"type": "array", "items": text, "minItems": 1}}},
			"holidays":        described("string", "a file of dates that count as days of cron: without days it is due on them only"),
			"except_holidays": described("string", "a file of dates on which cron is not due"),
			"timezone":        described("string", "IANA name for cron; default UTC"),
			"jitter":          duration("each tick is late by a random time up to this"),
			"first_run": object{
				"enum":        []contract.FirstRun{contract.FirstRunNow, contract.FirstRunScheduled},
				"description": "now: a run starts when apply makes the job type; scheduled: at its first tick; default now for every, scheduled for cron",
			},
		},
	}
}

func policySchema() object {
	defaults := reflect.ValueOf(jobtype.DefaultPolicy())
	choices := map[string][]string{
		"liveness":       {string(jobtype.LivenessProgress), string(jobtype.LivenessProcess), string(jobtype.LivenessActivity)},
		"on_disconnect":  {string(jobtype.DisconnectContinue), string(jobtype.DisconnectStop)},
		"on_worker_loss": {string(jobtype.WorkerLossReplace), string(jobtype.WorkerLossFail), string(jobtype.WorkerLossHold)},
		"recovery":       {string(jobtype.RecoveryResume), string(jobtype.RecoveryFail)},
		"on_deadline":    {string(jobtype.DeadlineCancel), string(jobtype.DeadlineDrain)},
		"on_window_end":  {string(jobtype.WindowEndDrain), string(jobtype.WindowEndCheckpoint)},
		"routing":        {string(jobtype.RoutingWorker), string(jobtype.RoutingShared)},
		"overlap": {
			string(jobtype.OverlapSkip), string(jobtype.OverlapBufferOne), string(jobtype.OverlapBufferAll),
			string(jobtype.OverlapCancelOther), string(jobtype.OverlapTerminateOther),
		},
	}
	properties := object{}
	for _, s := range policySettings() {
		value := defaults.Field(s.index)
		property := object{"default": value.Interface()}
		switch value.Interface().(type) {
		case jobtype.Duration:
			property["$ref"] = "#/$defs/duration"
		case int:
			property["type"] = "integer"
		case bool:
			property["type"] = "boolean"
		default:
			property["type"], property["enum"] = "string", choices[s.key]
		}
		if value.IsZero() && value.Type() == reflect.TypeFor[jobtype.Duration]() {
			delete(property, "default")
		}
		properties[s.key] = property
	}
	properties["retries"] = closed(object{"limit": properties["retry_limit"], "backoff": properties["retry_backoff"], "max_backoff": properties["retry_max_backoff"]})
	properties["timeout"], properties["concurrency"] = properties["execution_timeout"], properties["global_execution_concurrency"]
	return closed(properties)
}
