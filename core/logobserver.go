package core

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

// NewLogObserver returns the Observer that writes to a log; nil is slog.Default().
// Refusals are written at Info, once a second for each identity and policy, and at
// most twenty lines a second in all: the line after a gap says how many were left
// out. Bans and what shadows would have changed are written alike. Identities are
// pseudonyms (see Event.Identity). What breaks, and an outage's begin and end, the
// Limiter writes to Config.Logger itself.
func NewLogObserver(logger *slog.Logger) Observer {
	return &logObserver{logger: logger, seed: maphash.MakeSeed()}
}

type logObserver struct {
	logger *slog.Logger
	seed   maphash.Seed

	mu      sync.Mutex
	second  int64
	lines   int // written in this second
	dropped int // since the last line
	seen    [256]uint64
}

const linesPerSecond = 20

// Observe implements Observer.
func (o *logObserver) Observe(e Event) {
	var message string
	var args []slog.Attr
	switch e.Kind {
	case EventRefused:
		message = "request refused"
		args = []slog.Attr{slog.String("item", e.Entry.Item), slog.Int64("limit", e.Entry.Limit),
			slog.Bool("annotated", e.Entry.Soft), slog.Bool("banned", e.Entry.Ban)}
		if e.Entry.RetryAfter != NoRetry {
			args = append(args, slog.Duration("retry_after", e.Entry.RetryAfter))
		}
	case EventBanned:
		message = "client banned"
		args = []slog.Attr{slog.Duration("for", e.Entry.RetryAfter)}
	case EventDisagreed:
		message = "shadow disagrees"
		args = []slog.Attr{slog.Bool("would_allow", e.Allowed)}
	default:
		return
	}
	logger := o.logger
	if logger == nil {
		logger = slog.Default()
	}
	if !logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	dropped, ok := o.admit(&e, time.Now().Unix())
	if !ok {
		return
	}
	if dropped > 0 {
		args = append(args, slog.Int("left_out", dropped))
	}
	args = append(args, slog.String("policy", e.Policy), slog.String("identity", e.Identity()))
	logger.LogAttrs(context.Background(), slog.LevelInfo, message, args...)
}

// admit reports whether a line is written, and how many were not since the last.
// seen holds prints of what was written in this second: where there are more than
// it can hold, one may be written twice, within the lines that a second has.
func (o *logObserver) admit(e *Event, second int64) (dropped int, ok bool) {
	k := e.key.Print(&[2]maphash.Seed{o.seed, o.seed})
	print := k.A ^ maphash.String(o.seed, e.Policy)*uint64(e.Kind) | 1
	o.mu.Lock()
	defer o.mu.Unlock()
	if second != o.second {
		o.second, o.lines = second, 0
		clear(o.seen[:])
	}
	slot := &o.seen[print>>56]
	if *slot == print || o.lines == linesPerSecond {
		o.dropped++
		return 0, false
	}
	*slot = print
	o.lines++
	dropped, o.dropped = o.dropped, 0
	return dropped, true
}
