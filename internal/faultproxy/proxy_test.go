package faultproxy

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// echo is a server that answers every line with itself and counts them.
func echo(t *testing.T) (addr string, lines chan string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lines = make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if line != "" {
						lines <- line
					}
					if err != nil {
						return
					}
					_, _ = c.Write([]byte(line))
				}
			}()
		}
	}()
	return l.Addr().String(), lines
}

// ask sends a line through the proxy and returns the answer.
func ask(p *Proxy, line string) (string, error) {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := c.Write([]byte(line)); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func TestModes(t *testing.T) {
	addr, lines := echo(t)
	p := New(t, addr)
	for _, step := range []struct {
		name    string
		mode    Mode
		answer  string // "" means an error
		arrives string
	}{
		{"pass", Mode{}, "hello\n", "hello\n"},
		{"refuse", Mode{Refuse: true}, "", ""},
		{"pass again", Mode{}, "hello\n", "hello\n"},
		{"blackhole", Mode{Blackhole: true}, "", ""},
		{"delay", Mode{Delay: time.Millisecond}, "hello\n", "hello\n"},
		{"drip", Mode{Drip: time.Millisecond}, "hello\n", "hello\n"},
		{"drop the reply", Mode{DropReply: []byte("hel")}, "", "hello\n"},
		{"drop another's reply", Mode{DropReply: []byte("bye")}, "hello\n", "hello\n"},
		{"reset", Mode{ResetAfter: 3}, "", "hel"},
		{"corrupt", Mode{Corrupt: func(b []byte) []byte { b[0] = 'j'; return b }}, "jello\n", "hello\n"},
	} {
		p.Set(step.mode)
		got, err := ask(p, "hello\n")
		if got != step.answer || (err == nil) != (step.answer != "") {
			t.Errorf("%s: answer %q, %v", step.name, got, err)
		}
		p.Set(Mode{})
		if _, err := ask(p, "mark\n"); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var arrived string
		for line := range lines {
			if line == "mark\n" {
				break
			}
			arrived += line
		}
		if strings.TrimSpace(arrived) != strings.TrimSpace(step.arrives) {
			t.Errorf("%s: %q arrived", step.name, arrived)
		}
	}
}

func TestCut(t *testing.T) {
	addr, _ := echo(t)
	p := New(t, addr)
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if p.Open() != 1 {
		t.Errorf("%d open", p.Open())
	}
	p.Cut()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still there")
	}
}
