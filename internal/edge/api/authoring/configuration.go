package authoring

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// Document is a YAML file with the files that it names.
type Document struct {
	Document string            `json:"document" minLength:"1" doc:"The file's text, YAML"`
	Files    map[string]string `json:"files,omitempty" maxProperties:"1000" doc:"Texts of the DAG files and lists of holidays that it names, by their paths"`
}

const fileName = "document"

// Validated is the result for a valid configuration.
type Validated struct {
	Valid    bool          `json:"valid"`
	Warnings config.Faults `json:"warnings"`
	JobTypes []string      `json:"job_types"`
}

// ConfigurationInput is a configuration in a request.
type ConfigurationInput struct {
	AllowUnregistered bool `query:"allow_unregistered" doc:"Accept handlers that neither this server nor a worker has registered"`
	Body              Document
}

var (
	viewConfiguration   = access.Permission{Verb: access.View, Kind: access.Configuration}   //nolint:gochecknoglobals // constants
	changeConfiguration = access.Permission{Verb: access.Change, Kind: access.Configuration} //nolint:gochecknoglobals // constants
)

const tag = "configuration"

// Operations adds the operations of this package.
func Operations(a *api.API) {
	s := &service{api: a, places: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	api.Add(a, api.Operation{
		ID: "validate-configuration", Method: http.MethodPost, Path: "/validate", Tag: tag, Summary: "Check a configuration: all faults at once, with line and column",
		May: viewConfiguration, Reach: api.Some, Safe: true, Document: true,
	}, s.validate)
	s.plans()
	s.dags()
	s.submissions()
	s.restores()
	s.settings()
	s.inForce()
}

type service struct {
	api    *api.API
	places chan struct{}
}

func (s *service) validate(ctx context.Context, call *api.Call, in *ConfigurationInput) (Validated, error) {
	loaded, err := s.load(ctx, call, in)
	if err != nil {
		return Validated{}, err
	}
	names := slices.Sorted(maps.Keys(loaded.JobTypes))
	return Validated{Valid: true, Warnings: lists.OrEmpty(loaded.Warnings), JobTypes: lists.OrEmpty(names)}, nil
}

func (s *service) load(ctx context.Context, call *api.Call, in *ConfigurationInput) (*config.Config, error) {
	return s.loadSources(ctx, call, in.AllowUnregistered, config.Source{Name: fileName, Data: []byte(in.Body.Document), Files: in.Body.Files})
}

func (s *service) loadSources(ctx context.Context, call *api.Call, allowUnregistered bool, sources ...config.Source) (*config.Config, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	handlers, validators := s.api.Handlers()
	options := config.Options{Sources: sources, Handlers: handlers, Validators: validators, AllowUnregistered: allowUnregistered}
	loaded, err := config.Load(options)
	if err == nil {
		return loaded, nil
	}
	lenient := options
	lenient.AllowUnregistered = true
	if _, other := config.Load(lenient); other != nil {
		return nil, err // The fleet's handlers do not help.
	}
	if options.Handlers, err = s.allHandlers(ctx, call); err != nil {
		return nil, fmt.Errorf("the handlers of workers could not be read: %w", err)
	}
	return config.Load(options)
}

// handlers returns those of this server alone if the fleet does not answer.
func (s *service) handlers(ctx context.Context, call *api.Call) []jobtype.Descriptor {
	all, err := s.allHandlers(ctx, call)
	if err != nil {
		call.Logf("the handlers of the fleet are not known: %v", err)
	}
	return all
}

func (s *service) allHandlers(ctx context.Context, call *api.Call) ([]jobtype.Descriptor, error) {
	own, _ := s.api.Handlers()
	fleet, err := call.Client.Workers().Handlers(ctx)
	all := slices.Clone(own)
	for _, descriptor := range fleet {
		if !slices.ContainsFunc(own, func(one jobtype.Descriptor) bool { return one.Name == descriptor.Name }) {
			all = append(all, descriptor)
		}
	}
	return all, err
}
