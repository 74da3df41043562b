package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// serve is one process of the application. It says where it listens, and ends
// when in does: with the program that started it.
func serve(args []string, in io.Reader, out io.Writer) error {
	app, err := newApp(strings.Join(args, ""))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	s := &http.Server{Handler: app, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		io.Copy(io.Discard, in)
		s.Close()
	}()
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// A process is one that we have started.
type process struct {
	url     string
	cmd     *exec.Cmd
	in      io.Closer
	passed  int
	refused int
}

func startProcess(redisURL string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, "serve", redisURL)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("a process of the application ended: %w", err)
	}
	p.url = strings.TrimSpace(line)
	return p, nil
}

func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
}

// perform starts two processes, asks both in turn, and compares what was let
// through with what is promised.
func perform(ctx context.Context, out io.Writer, redisURL string, promised int) error {
	var both []*process
	for range 2 {
		p, err := startProcess(redisURL)
		if err != nil {
			return err
		}
		defer p.stop()
		both = append(both, p)
		fmt.Fprintf(out, "started process %d of the application on %s\n", len(both), p.url)
	}
	fmt.Fprintf(out, "\nIt admits %d requests a minute for each API key. One key, both processes in turn:\n\n", limit)
	key, passed := rand.Text(), 0 // nobody has used it yet
	for i := range 2 * limit {
		p := both[i%2]
		answer, err := p.ask(ctx, key)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  process %d: %s\n", i%2+1, answer)
	}
	for i, p := range both {
		passed += p.passed
		fmt.Fprintf(out, "\nprocess %d let %d through and refused %d", i+1, p.passed, p.refused)
	}
	fmt.Fprintf(out, "\ntogether %d", passed)
	if passed != promised {
		fmt.Fprintln(out)
		return fmt.Errorf("%d requests were let through, want %d", passed, promised)
	}
	if redisURL == "" {
		fmt.Fprintf(out, ": twice the limit. Without -memory they share it.\n")
		return nil
	}
	fmt.Fprintf(out, ": the limit is one for both. With -memory each would count by itself.\n")
	return nil
}

// ask sends one request, and says what came back.
func (p *process) ask(ctx context.Context, key string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", p.url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		p.passed++
	case http.StatusTooManyRequests:
		p.refused++
	default:
		return "", fmt.Errorf("%s answered %s: is Redis there?", p.url, resp.Status)
	}
	return fmt.Sprintf("%s  RateLimit: %s", resp.Status, resp.Header.Get("RateLimit")), nil
}
