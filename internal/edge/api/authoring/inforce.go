package authoring

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/config/inforce"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// InForce is the configuration that the applied job types of one owner amount to.
type InForce struct {
	Owner    string            `json:"owner"`
	Owners   []string          `json:"owners" doc:"All owners of applied job types"`
	Document string            `json:"document" doc:"YAML; sections that only processes read, such as notify and access, are not in it"`
	Files    map[string]string `json:"files" doc:"The files that it names"`
	JobTypes []string          `json:"job_types"`
	AsOf     time.Time         `json:"as_of"`
}

// Schemas are the JSON Schemas of files.
type Schemas struct {
	Configuration json.RawMessage `json:"configuration" doc:"Of a configuration, with the handlers of the fleet"`
	DAG           json.RawMessage `json:"dag" doc:"Of a file with a DAG"`
}

// mostInForce bounds the text, as a configuration is bounded.
const mostInForce = 1 << 20

func (s *service) inForce() {
	api.Add(s.api, api.Operation{
		ID: "get-configuration", Method: http.MethodGet, Path: "/configuration", Tag: tag, Summary: "Write the applied job types as a configuration, with the DAG files that it names",
		Description: "A plan of it changes no setting. With only, or for a caller who sees a part of the job types, a plan lists the others as deletions. Settings with their default value are left out.",
		May:         viewConfiguration, Reach: api.Some,
	}, s.getInForce)
	api.Add(s.api, api.Operation{
		ID: "get-configuration-schema", Method: http.MethodGet, Path: "/configuration/schema", Tag: tag, Summary: "Show the JSON Schemas of a configuration and of a DAG, for editors",
		May: access.Permission{Verb: access.View, Kind: access.Handlers},
	}, func(ctx context.Context, call *api.Call, _ *struct{}) (Schemas, error) {
		var schemas Schemas
		var err error
		if schemas.Configuration, err = config.Schema(s.handlers(ctx, call)); err != nil {
			return schemas, err
		}
		schemas.DAG, err = spec.Schema()
		return schemas, err
	})
}

func (s *service) getInForce(ctx context.Context, call *api.Call, in *struct {
	Owner string   `query:"owner" maxLength:"100" doc:"Default: none, or else the first one that has job types"`
	Only  []string `query:"only,explode" maxItems:"1000" doc:"Only these job types"`
},
) (InForce, error) {
	all, err := s.api.JobTypes(ctx, call)
	if err != nil {
		return InForce{}, err
	}
	answer := InForce{Owner: in.Owner, Owners: []string{}, JobTypes: []string{}, AsOf: time.Now().UTC()}
	for _, one := range all {
		if call.Sees(access.Scope{JobType: one.Name}) && !slices.Contains(answer.Owners, one.Spec.Owner) {
			answer.Owners = append(answer.Owners, one.Spec.Owner)
		}
	}
	slices.Sort(answer.Owners)
	if len(answer.Owners) > 0 && !slices.Contains(answer.Owners, in.Owner) && in.Owner == "" {
		answer.Owner = answer.Owners[0]
	}
	var specs []contract.JobTypeSpec
	disabled := map[string]bool{}
	for _, one := range all {
		if one.Spec.Owner != answer.Owner || !call.Sees(access.Scope{JobType: one.Name}) || len(in.Only) > 0 && !slices.Contains(in.Only, one.Name) {
			continue
		}
		specs, disabled[one.Name] = append(specs, one.Spec), one.DisabledByConfig
		answer.JobTypes = append(answer.JobTypes, one.Name)
	}
	slices.Sort(answer.JobTypes)
	written, err := inforce.Of(answer.Owner, specs, disabled, s.handlers(ctx, call))
	if err != nil {
		return answer, err
	}
	size := len(written.Text)
	for _, text := range written.Files {
		size += len(text)
	}
	if size > mostInForce {
		return answer, problem.Newf(http.StatusUnprocessableEntity, problem.CodeTooLarge, "the %d job types have %d bytes, more than one configuration may have", len(specs), size).
			With("name some with only, like only=" + answer.JobTypes[0])
	}
	answer.Document, answer.Files = written.Text, written.Files
	return answer, nil
}
