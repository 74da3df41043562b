package main

// redisBugs: of stores outside the process.
var redisBugs = []mutant{
	{
		name: "ttl-floored", from: "throttled", what: "the time to live is cut to whole seconds: state is gone too early",
		file: "backends/redis/lua/functions.lua", old: "return math.max(math.ceil((instant - now) / 1000) + 1, $least)", new: "return math.max(math.floor((instant - now) / 1000000) * 1000, $least)",
		pkg: "backends/redis", run: "^TestFault_A17$", short: true,
	}, {
		name: "ttl-set-once", from: "limits, ulule, upstash", what: "only the first charge sets a time to live: one that is lost never comes back",
		file: "backends/redis/lua/fixed-window.lua", old: "  redis.call('SET', @key, string.format('%d %d', @e, @u + n), 'PX', px(@e))\n", new: "  if @u == 0 then\n    redis.call('SET', @key, string.format('%d %d', @e, @u + n), 'PX', px(@e))\n  else\n    redis.call('SET', @key, string.format('%d %d', @e, @u + n), 'KEEPTTL')\n  end\n",
		pkg: "backends/redis", run: "^TestFault_A16$",
	}, {
		name: "ttl-compared-as-text", from: "upstash", what: "EXPIRE if the value equals an argument, which is text: never",
		file: "backends/redis/lua/sliding-window.lua", old: "  redis.call('SET', @key, string.format('%d %d %d', @e, c, @p),\n    'PX', px(@e + $window - math.floor(($window - 1) / c)))\nend\n\n-- OWE", new: "  redis.call('SET', @key, string.format('%d %d %d', @e, c, @p))\n  if n == ARGV[1] then redis.call('PEXPIRE', @key, px(@e + $window)) end\nend\n\n-- OWE",
		pkg: "backends/redis", run: "^TestFault_A16$",
	}, {
		name: "tostring", from: "redis_rate, dr-josiah", what: "numbers become text with 14 digits",
		file: "backends/redis/lua/functions.lua", old: "    redis.call('SET', key, string.format('%d %d', q, r), 'PX', ends)", new: "    redis.call('SET', key, q .. ' ' .. r, 'PX', ends)",
		pkg: "backends/redis", run: "^TestAttack_D9", short: true,
	}, {
		name: "products-as-doubles", from: "redis_rate", what: "products beyond 2^53 are compared as they are rounded",
		file: "backends/redis/lua/functions.lua", old: "  if x < 9007199254740992 and y < 9007199254740992 then return x < y end\n", new: "  if x then return x < y end\n",
		pkg: "backends/redis", run: "^TestLuaComparesProductsExactly$",
	}, {
		name: "script-without-an-end", from: "dr-josiah", what: "a call's work grows with what has piled up",
		file: "backends/redis/lua/functions.lua", old: "    lo, step = lo + step, step * 2\n", new: "    lo = lo + step\n",
		pkg: "backends/redis", run: "^TestFault_A19$",
	}, {
		name: "written-before-validated", from: "scripts are not rolled back", what: "a foreign key in the middle of a decision leaves the others charged",
		file: "backends/redis/program.go", old: "		fmt.Fprintf(b, \"if bad%[1]s then raw%[1]s,ok%[1]s=1,false end\\n\", n)\n", new: "		fmt.Fprintf(b, \"if bad%[1]s then raw%[1]s,ok%[1]s=1,true end\\n\", n)\n",
		pkg: "backends/redis", run: "^TestFault_A15$",
	}, {
		name: "lost-reply-sent-again", from: "everybody on go-redis", what: "the client sends a charge again whose reply was lost",
		file: "backends/redis/call.go", old: "func (noRetry) NoRetry() bool { return true }", new: "func (noRetry) NoRetry() bool { return false }",
		pkg: "backends/redis", run: "^TestFault_A5$", short: true,
	}, {
		name: "retry-on-eof", from: "home-made retries", what: "an error that proves nothing is taken for a refusal",
		file: "backends/redis/errors.go", old: "	if _, ok := errors.AsType[redis.Error](err); !ok {\n		return 1, nil\n	}\n	text", new: "	if _, ok := errors.AsType[redis.Error](err); !ok {\n		return 3, nil\n	}\n	text",
		pkg: "backends/redis", run: "^TestFault_A5$",
	}, {
		name: "no-deadline", from: "go-redis without ContextTimeoutEnabled", what: "a server that hangs holds its callers for seconds",
		file: "backends/redis/backend.go", old: "b.via = obeying(c, b.timeout)", new: "_ = obeying",
		pkg: "backends/redis", run: "^TestFault_A4$",
	}, {
		name: "lock-across-io", from: "httprate, fiber", what: "a mutex is held while the server is asked",
		file: "backends/redis/call.go", old: "func (b *Backend) send(ctx context.Context, line []any) (any, error) {\n", new: "var oneAtATime = make(chan struct{}, 1)\n\nfunc (b *Backend) send(ctx context.Context, line []any) (any, error) {\n	oneAtATime <- struct{}{}\n	defer func() { <-oneAtATime }()\n	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), b.timeout)\n	defer stop()\n",
		pkg: "backends/redis", run: "^TestFault_A4$",
	}, {
		name: "hanging-up-cancels", from: "the request's context in the store's call", what: "a client that goes away makes its charge look like a failure",
		file: "backends/redis/call.go", old: "parent := time.Now().Add(b.timeout), context.WithoutCancel(ctx)", new: "parent := time.Now().Add(b.timeout), ctx",
		pkg: "backends/redis", run: "^Test(Fault_F8|Cancel|TheCaller|HangingUp)",
	}, {
		name: "io-in-constructor", from: "ulule", what: "a program can not start while its Redis is down",
		file: "backends/redis/guard.go", old: "func (g *guards) newGuard(server *redis.Client) *guard {\n", new: "func (g *guards) newGuard(server *redis.Client) *guard {\n	if err := server.Ping(context.Background()).Err(); err != nil {\n		panic(err)\n	}\n",
		pkg: "backends/redis", run: "^TestFault_A1$",
	}, {
		name: "noscript-is-a-failure", from: "clients that load scripts once", what: "a flushed script makes every decision fail",
		file: "backends/redis/call.go", old: "redis.HasErrorPrefix(err, \"NOSCRIPT\")", new: "redis.HasErrorPrefix(err, \"NEVER\")",
		pkg: "backends/redis", run: "^TestFault_A3$",
	}, {
		name: "cluster-found-in-a-minute", from: "go-redis", what: "after a failover nobody looks for the new master",
		file: "backends/redis/call.go", old: "		r.client.ReloadState(ctx)\n", new: "",
		pkg: "backends/redis", run: "^TestFault_B3$",
	}, {
		name: "no-hash-tag", from: "httprate-redis", what: "the cells of one identity live in several slots",
		file: "core/naming.go", old: "	dst = append(dst, nameVersion+\"{\"...)\n", new: "	dst = append(dst, nameVersion+\"(\"...)\n",
		pkg: "backends/redis", run: "^TestFault_B6",
	}, {
		name: "no-version", from: "most", what: "the next release reads the states of this one",
		file: "core/naming.go", old: "	nameVersion = \"1:\"\n", new: "	nameVersion = \"\"\n",
		pkg: "backends/redis", run: "^TestFault_G8$",
	}, {
		name: "replies-taken-at-their-word", from: "replies read with two type assertions", what: "numbers that no state can hold are believed",
		file: "backends/redis/state.go", old: "err != nil || n < 0 || n > maxWord || more", new: "err != nil || more",
		pkg: "backends/redis", run: "^TestFault_A14$|^FuzzReply$",
	},
}
