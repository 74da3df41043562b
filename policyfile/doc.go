// Package policyfile reads the policies of an application from a YAML file, and
// reads them again while the application runs.
//
//	proxies: [10.0.0.0/8]
//	policies:
//	  - name: api
//	    rate: 100/m; 2000/d
//	    key: header:X-Api-Key
//	    overrides:
//	      - match: {header:X-Api-Key: acme}
//	        times: 10
//	        until: 2026-11-27T18:00:00Z
//	  - name: login
//	    rate: 5/15m
//	    strategy: moving-window
//	    key: ip+post:username
//	    methods: [UNSAFE]
//
// A file is read strictly: a field that is not known, a value that means nothing
// and settings that do not go together are errors, all of them at once, each with
// its line and what to do about it (Problems).
//
// [Open] is for applications: it keeps a Limiter per version of the file and puts
// a new one in place at once, or keeps the old one where the file is wrong.
// [Parse] is for programs that only want to look.
package policyfile
