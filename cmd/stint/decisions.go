package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"

	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
)

// A decisionLog writes one JSON line per request, in the order of the trace; with
// several lanes, one per request and lane.
type decisionLog struct {
	w     *bufio.Writer
	close func() error
	lanes []string // their names; nil where there is one
	named bool     // a lane has several policies: say which one speaks
	buf   []byte
}

// openDecisions creates the file; "-" is out.
func openDecisions(name string, out io.Writer, lanes []*replay.Lane, plans []plan) (*decisionLog, error) {
	d := &decisionLog{close: func() error { return nil }}
	if name != "-" {
		f, err := os.Create(name)
		if err != nil {
			return nil, err
		}
		out, d.close = f, f.Close
	}
	d.w = bufio.NewWriterSize(out, 1<<16)
	for _, p := range plans {
		d.named = d.named || len(p.file.Policies) > 1
	}
	if len(lanes) > 1 {
		for _, l := range lanes {
			d.lanes = append(d.lanes, l.Name)
		}
	}
	return d, nil
}

func (d *decisionLog) Close() error {
	err := d.w.Flush()
	if e := d.close(); err == nil {
		err = e
	}
	return err
}

// write is replay.Run's Decided.
func (d *decisionLog) write(e *trace.Entry, outcomes []replay.Outcome) error {
	for i := range outcomes {
		d.buf = d.line(d.buf[:0], e, &outcomes[i], i)
		if _, err := d.w.Write(d.buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *decisionLog) line(b []byte, e *trace.Entry, o *replay.Outcome, lane int) []byte {
	b = append(b, `{"at_ms":`...)
	b = appendMillis(b, e.At)
	b = d.key(b, e, o)
	if e.Op != trace.Take {
		b = append(append(b, `,"op":`...), strconv.Quote(e.Op.String())...)
	}
	cost := int64(1)
	if e.HasCost {
		cost = e.Cost
	}
	b = strconv.AppendInt(append(b, `,"cost":`...), cost, 10)
	b = strconv.AppendBool(append(b, `,"allowed":`...), o.Allowed)
	if o.Applied {
		b = strconv.AppendInt(append(b, `,"limit":`...), o.Limit, 10)
		b = strconv.AppendInt(append(b, `,"remaining":`...), o.Remaining, 10)
		b = appendWait(append(b, `,"retry_after_ms":`...), o.RetryAfter)
		b = appendWait(append(b, `,"reset_after_ms":`...), o.ResetAfter)
	} else {
		b = append(b, `,"limit":null,"remaining":null,"retry_after_ms":null,"reset_after_ms":null`...)
	}
	if e.Op == trace.Refund {
		b = strconv.AppendInt(append(b, `,"refunded":`...), o.Refunded, 10)
	}
	if d.named {
		b = appendText(append(b, `,"policy":`...), o.Policy)
	}
	if d.lanes != nil {
		b = appendText(append(b, `,"lane":`...), d.lanes[lane])
	}
	if o.Err != nil {
		b = appendText(append(b, `,"error":`...), o.Err.Error())
	}
	return append(b, "}\n"...)
}

// key is whom the entry was counted for: its own key or keys, else what the
// policy that was asked first found.
func (d *decisionLog) key(b []byte, e *trace.Entry, o *replay.Outcome) []byte {
	switch {
	case len(e.Keys) == 1:
		return appendText(append(b, `,"key":`...), e.Keys[0])
	case len(e.Keys) > 1:
		b = append(b, `,"keys":[`...)
		for i, k := range e.Keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, k)
		}
		return append(b, ']')
	case o.Applied:
		return appendText(append(b, `,"key":`...), replay.KeyText(o.Key))
	}
	return append(b, `,"key":null`...)
}

// appendWait is a wait in milliseconds; null is never.
func appendWait(b []byte, us int64) []byte {
	if us == core.Forever {
		return append(b, "null"...)
	}
	return appendMillis(b, us)
}

// appendMillis is microseconds as milliseconds, with decimals where they are not
// whole.
func appendMillis(b []byte, us int64) []byte {
	b = strconv.AppendInt(b, us/1000, 10)
	rest := us % 1000
	if rest == 0 {
		return b
	}
	b = append(b, '.', byte('0'+rest/100))
	if rest %= 100; rest > 0 {
		if b = append(b, byte('0'+rest/10)); rest%10 > 0 {
			b = append(b, byte('0'+rest%10))
		}
	}
	return b
}

// appendText is a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string can always be written
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
