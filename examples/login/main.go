// A login that withstands people who try passwords, in Gin. README.md beside it
// says what to try.
package main

import (
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func main() {
	var o options
	flag.BoolVar(&o.hard, "hard", false, "ban by user name alone; shows why not to")
	flag.Func("proxy", "prefix of a proxy whose X-Forwarded-For is believed", func(s string) error {
		p, err := netip.ParsePrefix(s)
		o.proxies = append(o.proxies, p)
		return err
	})
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	app, err := newApp(o)
	if err == nil {
		fmt.Println("starting on http://" + *addr)
		err = http.ListenAndServe(*addr, app)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type options struct {
	proxies []netip.Prefix
	hard    bool
	now     func() time.Time // for tests; nil is the real time
}

// region policies

// failed are the answers that count: the wrong password, and the captcha that was
// not solved. Others are given back, so that nobody is limited for logging in.
var failed = core.OnStatus(http.StatusUnauthorized, http.StatusForbidden)

// doors refuse. They count by address, so that nobody can close them for others,
// and ban who fails too often, each time for twice as long.
var doors = []core.Policy{
	// One address, one name: somebody has forgotten a password, or guesses one.
	// Whoever gets in is forgotten.
	{Name: "pair", Rate: "5/15m", Strategy: core.BucketedWindow{}, By: "ip+fold(post:username)",
		CountIf: failed, ResetIf: core.OnStatus(http.StatusOK),
		Ban: &core.Ban{Failures: true, After: 10, Within: time.Hour, For: time.Hour, Max: 24 * time.Hour}},
	// One address, many names: the commonest passwords for everybody in turn. No
	// success resets it: whoever has an account could go on for ever.
	{Name: "address", Rate: "30/15m", Strategy: core.BucketedWindow{}, CountIf: failed,
		Ban: &core.Ban{Failures: true, After: 60, Within: time.Hour, For: time.Hour, Max: 24 * time.Hour}},
}

// alarms annotate: over these limits the handler asks for a captcha. What their
// keys have in common is that strangers use them up for others.
var alarms = []core.Policy{
	// Many addresses, one name: an account that is worth renting machines for.
	{Name: "name", Rate: "20/h", By: "fold(post:username)", Mode: core.Annotate, CountIf: failed},
	// Many addresses, many names: a stolen list. No request stands out from the
	// honest ones, only their number does.
	{Name: "everybody", Rate: "300/10m", By: "const:everybody", Mode: core.Annotate, CountIf: failed},
}

// byNameAlone is how not to do it: a ban of whomever strangers name.
var byNameAlone = core.Policy{Name: "name", Rate: "20/h", By: "fold(post:username)", CountIf: failed,
	Ban: &core.Ban{Failures: true, After: 20, Within: time.Hour, For: 24 * time.Hour}}

// endregion

// newApp makes the application.
func newApp(o options) (http.Handler, error) {
	soft := append([]core.Policy{}, alarms...)
	if o.hard {
		soft[0] = byNameAlone
	}
	config := core.Config{Backend: memory.New(), Proxies: o.proxies, Now: o.now, Policies: doors}
	door, err1 := core.New(config)
	config.Policies = soft
	alarm, err2 := core.New(config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	// Two limiters, one behind the other: what a door refuses does not reach the
	// alarms, or a single machine could have everybody solve captchas.
	r.POST("/login", ginlimit.New(door), ginlimit.New(alarm), login)
	return r, nil
}

// region login

func login(c *gin.Context) {
	alarm, _ := ginlimit.Decision(c)
	// Asked before anybody looks at the password: an answer that differs for the
	// right one would let guesses through without a captcha.
	if alarm.Limited && !solved(c.PostForm("captcha")) {
		c.String(http.StatusForbidden, "many have tried; how much is 3 + 4? (captcha)\n")
		return
	}
	if !known(c.PostForm("username"), c.PostForm("password")) {
		c.String(http.StatusUnauthorized, "wrong user name or password\n")
		return
	}
	c.String(http.StatusOK, "welcome\n")
}

// endregion

// solved stands for the captcha service.
func solved(answer string) bool { return answer == "7" }

// known stands for the user table, which has slow hashes instead of passwords.
// It tells names apart no finer than Fold does: otherwise every spelling would be
// another five guesses.
func known(name, password string) bool {
	want, ok := users[strings.ToLower(strings.ToUpper(strings.TrimSpace(name)))]
	return subtle.ConstantTimeCompare([]byte(want), []byte(password)) == 1 && ok
}

var users = map[string]string{"alice": "correct horse", "bob": "battery staple"}
