package core

// The codes of findings. They are listed in docs/doctor.md, are compared with there
// by a test, and never change their meaning.
const (
	// in the settings
	codeDisabled          = "disabled"
	codeClockReplaced     = "clock-replaced"
	codePhaseReplaced     = "phase-replaced"
	codeProxiesTooWide    = "proxies-too-wide"
	codeIPv6TooNarrow     = "ipv6-too-narrow"
	codeNoSecret          = "no-secret"
	codeDigestConstant    = "digest-constant"
	codeInstances         = "instances-in-process"
	codeNoFallback        = "no-fallback"
	codeFallbackIsBackend = "fallback-is-backend"
	codeEverybodyExempt   = "everybody-exempt"

	// in a policy
	codeKeyChosen       = "key-chosen-by-client"
	codeBanChosen       = "ban-chosen-by-client"
	codeBanEverybody    = "ban-for-everybody"
	codeLimitAvoidable  = "limit-avoidable"
	codeEverybodyShares = "everybody-shares"
	codeBodyWithoutBody = "body-key-without-body"
	codeGuardFailsOpen  = "guard-fails-open"
	codeCountDeniedLong = "count-denied-long"
	codeLogTooLarge     = "log-too-large"

	// from any backend
	codeBackendRefuses = "backend-refuses"

	// in the first requests
	codeProxyNotNamed       = "proxy-not-named"
	codeFewPrivatePeers     = "few-private-peers"
	codeProxiesNeverMet     = "proxies-never-met"
	codeProxyHeaderMissing  = "proxy-header-missing"
	codeProxyHeaderRepeated = "proxy-header-repeated"
	codeRouteUnknown        = "route-unknown"
	codeNeverApplies        = "never-applies"
	codeUserNeverKnown      = "user-never-known"
	codeValueMostlyMissing  = "value-mostly-missing"
	codeMountedTwice        = "mounted-twice"
	codeCountedTwice        = "counted-twice"
	codeMadePerRequest      = "made-per-request"
)
