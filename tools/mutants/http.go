package main

// httpBugs: of middleware, and of what happens when something else breaks.
var httpBugs = []mutant{
	{
		name: "path-instead-of-route", from: "Fiber's c.Path() as a key", what: "every spelling of a path has a budget",
		file: "adapters/gin/native.go", old: "return n.c.FullPath()", new: "return n.c.Request.URL.Path",
		pkg: "internal/matrix", run: "^TestAttack_F[13]$/^memory_Gin",
	}, {
		name: "head-is-not-get", from: "keys by method", what: "HEAD has a budget of its own",
		file: "core/keyresolve.go", old: "		method = \"GET\"\n", new: "		method = \"HEAD\"\n",
		pkg: "internal/matrix", run: "^TestAttack_F1$/^memory",
	}, {
		name: "large-body-is-no-key", from: "Gin", what: "a body that is too large has an empty field",
		file: "core/body.go", old: "		return nil, p, ErrBodyTooLarge\n	case err != nil && err.Error()", new: "		return nil, p, nil\n	case err != nil && err.Error()",
		pkg: "core", run: "^TestPeekBodyLeavesTheBody$|^TestBodyLimit",
	}, {
		name: "body-eaten", from: "PostForm before the handler", what: "the handler finds an empty body",
		file: "core/body.go", old: "	p := &peekedBody{Closer: body, head: head, rest: body}\n", new: "	p := &peekedBody{Closer: body, rest: body}\n",
		pkg: "core", run: "^TestPeekBodyLeavesTheBody$",
	}, {
		name: "hook-kills-the-process", from: "fasthttp has no recover", what: "a hook that panics takes the process with it",
		file: "core/limiter.go", old: "	defer recoverHook(&err)\n	if l.watching.Load() {", new: "	if l.watching.Load() {",
		pkg: "core", run: "^TestAHookThatPanics",
	}, {
		name: "lock-across-hooks", from: "one mutex for everything", what: "a slow hook holds up everybody",
		file: "core/limiter.go", old: "func (l *Limiter) check(n Native, v *Visit) (err error) {\n", new: "var oneAtATime sync.Mutex\n\nfunc (l *Limiter) check(n Native, v *Visit) (err error) {\n	oneAtATime.Lock()\n	defer oneAtATime.Unlock()\n",
		pkg: "internal/matrix", run: "^TestFault_F7$/^memory_net",
	}, {
		name: "charged-twice", from: "express, on app and route", what: "a limiter that is registered twice charges twice",
		file: "core/flights.go", old: "	if s.Load() == token {\n		return false\n	}\n", new: "",
		pkg: "core", run: "^TestOneRequestIsDecidedOncePerLimiter$",
	}, {
		name: "fields-added", from: "throttled", what: "header fields are added to those that are there",
		file: "core/header.go", old: "		h[fieldNames[i]] = []string{string(d.AppendField(buf[:0], i, old))}\n", new: "		h[fieldNames[i]] = append(h[fieldNames[i]], string(d.AppendField(buf[:0], i, old)))\n",
		pkg: "core", run: "^TestStackedLimitersShareTheFields$|^TestHeaderFields$",
	}, {
		name: "failure-is-admission", from: "if err != nil { return allow }", what: "a failing store lets everything pass",
		file: "core/degrade.go", old: "	return mode\n", new: "	return FailOpen\n",
		pkg: "core", run: "^TestFailureModes$",
	}, {
		name: "every-error-is-an-outage", from: "envoy on memcached, rack-attack", what: "an error that the client causes opens the door",
		file: "core/degrade.go", old: "	if !isDown(err) || mode == Fallback", new: "	if mode == Fallback",
		pkg: "core", run: "^TestClasses$|^TestFailureModes$",
	}, {
		name: "compensation-after-ambiguity", from: "decrement after a time-out", what: "what may not have been charged is given back",
		file: "core/degrade.go", old: "		if v.Charged && v.Err == nil && !a.Soft", new: "		if (v.Charged || v.Err != nil) && !a.Soft",
		pkg: "core", run: "^TestNothingIsGivenBackAfterAnAmbiguousError$",
	}, {
		name: "abort-is-a-failure", from: "the request's context in the store's call", what: "who hangs up before the answer is not charged",
		file: "core/limiter.go", old: "	return context.WithoutCancel(n.Context())\n", new: "	return n.Context()\n",
		pkg: "core", run: "^TestWhoHangsUpIsCharged$",
	}, {
		name: "errors-shown", from: "httprate", what: "an answer tells what the store said",
		file: "core/failure.go", old: "	v.Pass, v.Response = false, failure(statusOf(err))\n", new: "	v.Pass, v.Response = false, failure(statusOf(err))\n	v.Response.Body = []byte(err.Error())\n",
		pkg: "internal/matrix", run: "^TestAttack_F11$/^memory",
	},
}
