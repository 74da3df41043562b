package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

// A looker is what peek, why, reset, ban and unban have in common: a policy file, the store
// of an application, and somebody who sends requests to it.
type looker struct {
	file, backend, secretFile string
	only                      []string
	ip, user, method, route   string
	headers, query, form      []string
}

func (k *looker) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&k.file, "policies", "p", "", "policy `file` of the application")
	f.StringVarP(&k.backend, "backend", "b", "", "store of the application: redis://host:port or memcached://host:port")
	f.StringVar(&k.secretFile, "secret-file", "", "`file` with the application's Config.Secret, where it has one")
	f.StringSliceVar(&k.only, "policy", nil, "names of policies to look at (default: all)")
	f.StringVar(&k.ip, "ip", "", "address of the client")
	f.StringVar(&k.user, "user", "", "who is logged in")
	f.StringVar(&k.method, "method", "", "method of the request (default: whatever the policies apply to)")
	f.StringVar(&k.route, "route", "", "route template of the request")
	f.StringArrayVar(&k.headers, "header", nil, "header field as `name=value`; repeated")
	f.StringArrayVar(&k.query, "query", nil, "query parameter as `name=value`; repeated")
	f.StringArrayVar(&k.form, "form", nil, "form field as `name=value`; repeated")
	cobra.CheckErr(cmd.MarkFlagRequired("policies"))
	cobra.CheckErr(cmd.MarkFlagRequired("backend"))
	complete(cmd, "backend", "redis://127.0.0.1:6379", "memcached://127.0.0.1:11211")
}

// A sight is a policy with a Limiter of its own, so that one that lacks a key says
// nothing about the others.
type sight struct {
	policyfile.Policy
	limiter *core.Limiter
	request *trace.Entry
	keys    *[]core.Key // of the request, as the latest look found them
}

// open makes a sight of each policy. close ends the connection. A sight that asks
// judges a request of the policy's cost, where others look at how things stand.
func (k *looker) open(ctx context.Context, asks bool) (sights []sight, close func(), err error) {
	request, err := k.request()
	f, fileErr := readFile(k.file)
	secret, secretErr := k.secret()
	if err := errors.Join(err, fileErr, secretErr); err != nil {
		return nil, nil, err
	}
	for _, name := range k.only {
		if _, ok := f.Policy(name); !ok {
			return nil, nil, fmt.Errorf("--policy: %s has no policy %q", k.file, name)
		}
	}
	if k.backend == "memory" {
		return nil, nil, errors.New("--backend: memory is inside the application: nobody else can look into it")
	}
	store, err := openStore(ctx, k.backend)
	if err != nil {
		return nil, nil, err
	}
	backend, _, err := store.backend()
	if err != nil {
		return nil, nil, err
	}
	hooks, keys := map[string]core.Hooks{}, map[string]*[]core.Key{}
	for _, p := range f.Policies {
		h := looking{keys: new([]core.Key)}
		if asks {
			h.cost = max(p.Cost, 1)
		}
		hooks[p.Name], keys[p.Name] = h, h.keys
	}
	config := f.Config(core.Config{Backend: backend, User: trace.User, Secret: secret, Logger: slog.New(slog.DiscardHandler)}, hooks)
	all := config.Policies
	for i, p := range f.Policies {
		if len(k.only) > 0 && !slices.Contains(k.only, p.Name) {
			continue
		}
		config.Policies = []core.Policy{k.widened(all[i])}
		l, err := core.New(config)
		if err != nil {
			return nil, nil, err
		}
		sights = append(sights, sight{p, l, request, keys[p.Name]})
	}
	return sights, store.close, nil
}

// widened is the policy for every method and route that the flags do not name.
func (k *looker) widened(p core.Policy) core.Policy {
	p.OnFailure = core.FailClosed // an error is an error here
	if k.method == "" {
		p.Methods = nil
	}
	if k.route == "" {
		p.Except = nil
	}
	return p
}

// looking are the hooks of a look, at a cost. They note the keys that it finds.
type looking struct {
	core.Base
	cost int64
	keys *[]core.Key
}

// KeyExtra implements core.Hooks.
func (h looking) KeyExtra(r core.Request, key core.Key) core.Key {
	key = h.Base.KeyExtra(r, key)
	*h.keys = append(*h.keys, key.Clone())
	return key
}

// Cost implements core.Coster.
func (h looking) Cost(core.Request) int64 { return h.cost }

// request is what the flags describe.
func (k *looker) request() (*trace.Entry, error) {
	e := &trace.Entry{Verb: k.method, Template: k.route, UserName: k.user}
	var errs []error
	if k.ip != "" {
		a, err := netip.ParseAddr(k.ip)
		e.Client = a
		errs = append(errs, err)
	}
	pairs := func(flag string, list []string, to *[]trace.Field) {
		for _, text := range list {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				errs = append(errs, fmt.Errorf("--%s %q: write name=value", flag, text))
			}
			*to = append(*to, trace.Field{Name: name, Value: value})
		}
	}
	var headers []trace.Field
	pairs("header", k.headers, &headers)
	pairs("query", k.query, &e.Args)
	pairs("form", k.form, &e.Form)
	for _, h := range headers {
		e.AddHeader(h.Name, h.Value)
	}
	return e, errors.Join(errs...)
}

// secret is the application's, from a file: a command line is for everybody to see.
func (k *looker) secret() ([]byte, error) {
	if k.secretFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(k.secretFile)
	return []byte(strings.TrimSuffix(string(text), "\n")), err
}

// look is how things stand for the request. The error is of the store; where the
// policy finds nobody to count, nobody is why.
func (s *sight) look() (d core.Decision, nobody error, err error) {
	*s.keys = nil
	d, err = s.limiter.PeekRequest(s.request)
	if errors.Is(err, core.ErrIdentity) {
		return d, err, nil
	}
	return d, nil, err
}
