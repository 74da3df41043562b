package policyfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-go/stint/core"
)

// Options are the settings of Open. The zero value is ready to use.
type Options struct {
	// Hooks are the policies' hooks, by their names. A name that the file does not
	// have is an error: a guard would be missing.
	Hooks map[string]core.Hooks
	// Event is told of every version that was put in place, and of every one that
	// was not because something is wrong with it. It is called by whoever reloads,
	// after the fact, one call at a time, and must not reload itself.
	Event func(Event)
}

// An Event is the end of a reload that changed something or failed.
type Event struct {
	// Err says why the old policies stay; nil where the new ones are in place. It
	// is Problems where the file is wrong.
	Err error
	// Added, Removed and Changed are names of policies, by what the file says of
	// them.
	Added, Removed, Changed []string
}

// Limits are the policies of a file as they are now. It is safe for concurrent
// use.
type Limits struct {
	path    string
	base    core.Config
	options Options
	current atomic.Pointer[version]

	mu     sync.Mutex // one reload at a time
	failed []byte     // the text that was wrong, so that Watch says it once
}

// A version is a file and the Limiter made of it. Neither changes any more.
type version struct {
	text    []byte
	file    *File
	limiter *core.Limiter
}

// Open reads a file and makes a Limiter of it and of base: its backend, users and
// whatever else is code. The error is everything that is wrong; Problems where
// that is in the file.
func Open(path string, base core.Config, o Options) (*Limits, error) {
	l := &Limits{path: path, base: base, options: o}
	v, err := l.read(nil)
	if err != nil {
		return nil, err
	}
	l.current.Store(v)
	return l, nil
}

// Limiter decides by the file as it was read last. What is mounted for good keeps
// its first version: mount what Mount answers, or ask for the Limiter anew each
// time.
func (l *Limits) Limiter() *core.Limiter { return l.current.Load().limiter }

// File is the file as it was read last. It must not be changed.
func (l *Limits) File() *File { return l.current.Load().file }

// Mount makes middleware follow the file: of what make returns for a Limiter, such
// as the New of an adapter, the function answers the one for the Limiter of now.
//
//	limit := policyfile.Mount(limits, ginlimit.New)
//	r.Use(func(c *gin.Context) { limit()(c) })
//
// A request is decided by one version, from its beginning to its end. make is
// called once per version.
func Mount[M any](l *Limits, make func(*core.Limiter) M) func() M {
	type mounted struct {
		by *version
		as M
	}
	var current atomic.Pointer[mounted]
	follow := func() M {
		v := l.current.Load()
		m := current.Load()
		if m == nil || m.by != v {
			m = &mounted{v, make(v.limiter)}
			current.Store(m)
		}
		return m.as
	}
	follow() // a nil Limiter is found out when the program starts
	return follow
}

// Reload reads the file again and puts its policies in place of the old ones, at
// once: no request sees some of both. Where something is wrong, the old ones stay,
// and the error says what. A file that has not changed is no event.
func (l *Limits) Reload() error { return l.reload(false) }

// reload is Reload; watching, a file that was wrong is complained about once.
func (l *Limits) reload(watching bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.current.Load()
	v, err := l.read(old)
	switch {
	case err == nil && v == nil:
		l.failed = nil
		return nil
	case err != nil:
		said := v != nil && l.failed != nil && bytes.Equal(l.failed, v.text)
		l.failed = nil
		if v != nil {
			l.failed = v.text
		}
		if watching && said {
			return err
		}
		l.tell(Event{Err: err})
		return err
	}
	l.failed = nil
	l.current.Store(v)
	l.tell(compare(old.file, v.file))
	return nil
}

func (l *Limits) tell(e Event) {
	if l.options.Event != nil {
		l.options.Event(e)
	}
}

// read makes a version of the file; nil where it is still that of old. A version
// that comes with an error has the text that is wrong and nothing else.
func (l *Limits) read(old *version) (*version, error) {
	text, err := os.ReadFile(l.path)
	if err != nil {
		return &version{text: []byte(err.Error())}, fmt.Errorf("policyfile: %w", err)
	}
	if old != nil && bytes.Equal(text, old.text) {
		return nil, nil
	}
	v := &version{text: text}
	if v.file, err = Parse(l.path, text); err != nil {
		return v, err
	}
	var errs []error
	for name := range l.options.Hooks {
		if _, ok := v.file.Policy(name); !ok {
			errs = append(errs, fmt.Errorf("policyfile: %s has no policy %q, for which there are hooks", l.path, name))
		}
	}
	v.limiter, err = core.New(v.file.Config(l.base, l.options.Hooks))
	return v, errors.Join(append(errs, err)...)
}

// Watch reloads the file whenever it changes, until ctx is done: it looks every so
// often, which works on every file system and where a file is replaced by a link.
// Options.Event says what came of it; a file that stays wrong is told once.
func (l *Limits) Watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = l.reload(true) // Event has it
		}
	}
}

// compare says what is different in a new file.
func compare(old, now *File) (e Event) {
	for _, p := range now.Policies {
		switch before, ok := old.Policy(p.Name); {
		case !ok:
			e.Added = append(e.Added, p.Name)
		case before.definition != p.definition:
			e.Changed = append(e.Changed, p.Name)
		}
	}
	for _, p := range old.Policies {
		if _, ok := now.Policy(p.Name); !ok {
			e.Removed = append(e.Removed, p.Name)
		}
	}
	for _, names := range [][]string{e.Added, e.Removed, e.Changed} {
		slices.Sort(names)
	}
	return e
}
