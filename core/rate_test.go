package core

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseRates(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		text, canonical string
		want            Rates
	}{
		{"100/m", "100/m", Rates{{100, time.Minute, 0}}},
		{"100/5m", "100/5m", Rates{{100, 5 * time.Minute, 0}}},
		{"100/300s", "100/5m", Rates{{100, 5 * time.Minute, 0}}},
		{"100/300", "100/5m", Rates{{100, 5 * time.Minute, 0}}},
		{"100/ 300 ", "100/5m", Rates{{100, 5 * time.Minute, 0}}},
		{"5 per 10 seconds", "5/10s", Rates{{5, 10 * time.Second, 0}}},
		{"5PER10SECONDS", "5/10s", Rates{{5, 10 * time.Second, 0}}},
		{"10/hour", "10/h", Rates{{10, time.Hour, 0}}},
		{"1 / 90 s", "1/90s", Rates{{1, 90 * time.Second, 0}}},
		{"1/15m", "1/15m", Rates{{1, 15 * time.Minute, 0}}},
		{"7/5000us", "7/5ms", Rates{{7, 5 * time.Millisecond, 0}}},
		{"7/1500 microseconds", "7/1500us", Rates{{7, 1500 * time.Microsecond, 0}}},
		{"3/ms", "3/ms", Rates{{3, time.Millisecond, 0}}},
		{"3/Millisecond", "3/ms", Rates{{3, time.Millisecond, 0}}},
		{"5/M", "5/m", Rates{{5, time.Minute, 0}}},
		{"5/week", "5/7d", Rates{{5, 7 * day, 0}}},
		{"5/2W", "5/14d", Rates{{5, 14 * day, 0}}},
		{"5/month", "5/30d", Rates{{5, 30 * day, 0}}},
		{"5/12 MONTHS", "5/360d", Rates{{5, 360 * day, 0}}},
		{"5/year", "5/365d", Rates{{5, 365 * day, 0}}},
		{"5/366days", "5/366d", Rates{{5, 366 * day, 0}}},
		{"2147483648/s", "2147483648/s", Rates{{MaxLimit, time.Second, 0}}},
		{"0/s", "0/s", Rates{{0, time.Second, 0}}},
		{"240/h@1m", "240/h@1m", Rates{{240, time.Hour, time.Minute}}},
		{"240/h @ minute", "240/h@1m", Rates{{240, time.Hour, time.Minute}}},
		{"240/h@60", "240/h@1m", Rates{{240, time.Hour, time.Minute}}},
		{"240/h@90s", "240/h@90s", Rates{{240, time.Hour, 90 * time.Second}}},
		{"1/s@5m", "1/s@5m", Rates{{1, time.Second, 5 * time.Minute}}},
		{"10/s; 1000/d", "10/s; 1000/d", Rates{{10, time.Second, 0}, {1000, day, 0}}},
		{"\t10/s@1ms,1000/d |5 per 300 s ", "10/s@1ms; 1000/d; 5/5m",
			Rates{{10, time.Second, time.Millisecond}, {1000, day, 0}, {5, 5 * time.Minute, 0}}},
		{"none", "none", Rates{}},
		{" Unlimited\t", "none", Rates{}},
	} {
		got, err := ParseRates(tt.text)
		if err != nil || got == nil || !slices.Equal(got, tt.want) {
			t.Errorf("ParseRates(%q) = %#v, %v; want %#v", tt.text, got, err, tt.want)
		}
		if got.String() != tt.canonical {
			t.Errorf("ParseRates(%q).String() = %q, want %q", tt.text, got, tt.canonical)
		}
	}
}

func TestParseRatesErrors(t *testing.T) {
	const right = `; write for example "100/m" or "5 per 10 seconds"`
	const rights = `; write for example "10/s; 1000/d"`
	list := func(n int) string {
		var rates []string
		for i := range n {
			rates = append(rates, fmt.Sprintf("1/%d", i+1))
		}
		return strings.Join(rates, ";")
	}
	if _, err := ParseRates(strings.Repeat(" ", maxRateText-3) + "5/m"); err != nil {
		t.Errorf("%d bytes: %v", maxRateText, err)
	}
	if _, err := ParseRates(list(maxRates)); err != nil {
		t.Errorf("%d rates: %v", maxRates, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"", `"": empty` + right + `, or "none" for no limit`},
		{" \t", `" \t": empty` + right + `, or "none" for no limit`},
		{"100/x", `"100/x": unknown unit at "x" (byte 4)` + right},
		{"5/mon", `"5/mon": unknown unit at "mon" (byte 2)` + right},
		{"5/min", `"5/min": unknown unit at "min" (byte 2)` + right},
		{"5/ss", `"5/ss": unknown unit at "ss" (byte 2)` + right},
		{"5/", `"5/": a unit is missing at the end` + right},
		{"5//m", `"5//m": a unit is missing at "/m" (byte 2)` + right},
		{"5 per 10", `"5 per 10": a unit is missing at the end` + right},
		{"5", `"5": "/" or "per" is missing at the end` + right},
		{"5@1m/h", `"5@1m/h": "/" or "per" is missing at "@1m/h" (byte 1)` + right},
		{"/m", `"/m": a whole number is missing at "/m" (byte 0)` + right},
		{"-1/s", `"-1/s": a whole number is missing at "-1/s" (byte 0)` + right},
		{"\u0665/m", "\"\u0665/m\": a whole number is missing at \"\u0665/m\" (byte 0)" + right},
		{"none; 5/m", `"none; 5/m": a whole number is missing at "none; 5/m" (byte 0)` + right},
		{"5/m; none", `"5/m; none": a whole number is missing at "none" (byte 5)` + right},
		{"2147483649/s", `"2147483649/s": the limit is above 2147483648, at "2147483649/s" (byte 0)` + right},
		{"18446744073709551617/s", `"18446744073709551617/s": the limit is above 2147483648, at "18446744073709551617"… (byte 0)` + right},
		{"5/0s", `"5/0s": the window must be 1ms at least and 366d at most, at "0s" (byte 2)` + right},
		{"5/999us", `"5/999us": the window must be 1ms at least and 366d at most, at "999us" (byte 2)` + right},
		{"5/367d", `"5/367d": the window must be 1ms at least and 366d at most, at "367d" (byte 2)` + right},
		{"5/2 years", `"5/2 years": the window must be 1ms at least and 366d at most, at "2 years" (byte 2)` + right},
		{"5/3812572w", `"5/3812572w": the window must be 1ms at least and 366d at most, at "3812572w" (byte 2)` + right}, // wraps into range at 64 bits
		{"5/m@0", `"5/m@0": the precision must be 1ms at least and 366d at most, at "0" (byte 4)` + right},
		{"5/m@", `"5/m@": a unit is missing at the end` + right},
		{"5/m@1m@1m", `"5/m@1m@1m": unexpected text after a rate at "@1m" (byte 6)` + rights},
		{"5/m\n", `"5/m\n": unexpected text after a rate at "\n" (byte 3)` + rights},
		{"5/m2", `"5/m2": unexpected text after a rate at "2" (byte 3)` + rights},
		{"5/m;", `"5/m;": a whole number is missing at the end` + right},
		{"5/m;,6/h", `"5/m;,6/h": a whole number is missing at ",6/h" (byte 4)` + right},
		{"5/m; 6/60", `"5/m; 6/60": same window as an earlier rate at "6/60" (byte 5)` + rights},
		{list(maxRates + 1), `"1/1;1/2;1/3;1/4;1/5;1/6;1/7;1/8;1/9;1/10;1/11;1/12;1/13;1/14;1/15;1/16;1/17": ` +
			`more than 16 rates at "1/17" (byte 71)` + rights},
		{strings.Repeat(" ", maxRateText-2) + "5/m", `"` + strings.Repeat(" ", 80) + `"…: longer than 1024 bytes at "m" (byte 1024)` + right},
	} {
		got, err := ParseRates(tt.text)
		if err == nil || err.Error() != "stint: rate "+tt.want || got != nil {
			t.Errorf("ParseRates(%q) = %v\n got: %v\nwant: stint: rate %s", tt.text, got, err, tt.want)
		}
	}
}

func TestParseRateTakesExactlyOne(t *testing.T) {
	if r, err := ParseRate("5 per minute@1s"); err != nil || r != (Rate{5, time.Minute, time.Second}) {
		t.Errorf("got %v, %v", r, err)
	}
	for text, want := range map[string]string{
		"none":     `stint: rate "none": exactly one rate is wanted, not 0; write for example "100/m" or "5 per 10 seconds"`,
		"5/m, 6/h": `stint: rate "5/m, 6/h": exactly one rate is wanted, not 2; write for example "100/m" or "5 per 10 seconds"`,
	} {
		if r, err := ParseRate(text); err == nil || err.Error() != want || r != (Rate{}) {
			t.Errorf("ParseRate(%q) = %v, %v; want %s", text, r, err, want)
		}
	}
}

// The longest canonical text must be short enough to be read back.
func TestLongestCanonicalTextIsReadBack(t *testing.T) {
	var rates Rates
	for i := range maxRates {
		d := time.Duration(MaxWindow-1-int64(i)*2) * time.Microsecond
		rates = append(rates, Rate{MaxLimit, d, d})
	}
	text, err := rates.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseRates(string(text)); err != nil || !slices.Equal(got, rates) {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}

func TestRateTextInJSON(t *testing.T) {
	type config struct {
		One  Rate
		Many Rates
		Not  Rates `json:",omitempty"`
	}
	in := config{One: Rate{5, time.Minute, 0}, Many: Rates{{10, time.Second, 0}, {240, time.Hour, time.Minute}}}
	text, err := json.Marshal(in)
	if want := `{"One":"5/m","Many":"10/s; 240/h@1m"}`; err != nil || string(text) != want {
		t.Fatalf("got %s, %v; want %s", text, err, want)
	}
	out := config{}
	if err := json.Unmarshal(text, &out); err != nil || out.One != in.One || !slices.Equal(out.Many, in.Many) {
		t.Errorf("got %+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"Many":"6/x"}`), &out); err == nil || !slices.Equal(out.Many, in.Many) {
		t.Errorf("after a failure: %v, %v; want the rates as they were", out.Many, err)
	}
	if err := json.Unmarshal([]byte(`{"Many":"none"}`), &out); err != nil || out.Many == nil || len(out.Many) > 0 {
		t.Errorf("none: %#v, %v", out.Many, err)
	}
}

func TestRatesOutOfRangeHaveNoText(t *testing.T) {
	for _, tt := range []struct {
		rates Rates
		want  string // "" for fine
	}{
		{nil, "stint: rates are not set; use core.Rates{} for no limit"},
		{Rates{}, ""},
		{Rates{{}}, ""}, // 0/s
		{Rates{{-1, time.Second, 0}}, "stint: rate -1/s: the limit must be within 0 and 2147483648"},
		{Rates{{MaxLimit + 1, time.Second, 0}}, "stint: rate 2147483649/s: the limit must be within 0 and 2147483648"},
		{Rates{{1, 0, 0}}, "stint: rate 1/0d: the window must be " + periodRange},
		{Rates{{1, 1500 * time.Nanosecond, 0}}, "stint: rate 1/1500ns: the window must be " + periodRange},
		{Rates{{1, time.Millisecond + 1, 0}}, "stint: rate 1/1000001ns: the window must be " + periodRange},
		{Rates{{1, 367 * 24 * time.Hour, 0}}, "stint: rate 1/367d: the window must be " + periodRange},
		{Rates{{1, time.Second, -time.Second}}, "stint: rate 1/s@-1s: the precision must be " + periodRange},
		{Rates{{1, time.Second, 0}, {2, time.Second, 0}}, "stint: rates 1/s and 2/s have the same window; keep one"},
		{make(Rates, maxRates+1), "stint: 17 rates; at most 16 hold together"},
	} {
		text, err := tt.rates.MarshalText()
		if tt.want == "" {
			if _, err2 := ParseRates(string(text)); err != nil || err2 != nil {
				t.Errorf("%v: %v, %v", tt.rates, err, err2)
			}
		} else if err == nil || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.rates, err, tt.want)
		}
		if len(tt.rates) == 1 {
			if _, err := tt.rates[0].MarshalText(); (err != nil) != (tt.want != "") {
				t.Errorf("one rate %v: %v", tt.rates[0], err)
			}
		}
	}
	if s := Rates(nil).String(); s != "" {
		t.Errorf("nil is written %q", s)
	}
}

func FuzzParseRates(f *testing.F) {
	for _, c := range rateVectors(f) {
		f.Add(c.text())
	}
	f.Add("240/h@1m | 5 per 1500us , 1/S")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := ParseRates(text)
		if err != nil {
			if rates != nil || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
				t.Fatalf("ParseRates(%q) = %v, %q", text, rates, err)
			}
			return
		}
		if rates == nil || len(text) > maxRateText || rates.check() != nil {
			t.Fatalf("ParseRates(%q) = %#v: out of range", text, rates)
		}
		again, err := ParseRates(rates.String())
		if err != nil || !slices.Equal(again, rates) || again.String() != rates.String() {
			t.Fatalf("%q reads as %q, and that as %v, %v", text, rates, again, err)
		}
		for _, r := range rates {
			if r.Window < time.Millisecond {
				t.Fatalf("%q: window %v", text, r.Window)
			}
			if again, err := ParseRate(r.String()); err != nil || again != r {
				t.Fatalf("%q: rate %v reads as %v, %v", text, r, again, err)
			}
		}
	})
}

// A rateVector is what one ancestor makes of one text.
type rateVector struct {
	Notation string
	Input    *string
	Repeat   struct {
		Prefix, Char, Suffix string
		Count                int
	} `json:"input_repeat"`
	Reference struct {
		OK       bool
		Limit    json.Number // null where it does not fit 2^53
		PeriodS  json.Number `json:"period_s"`
		LimitStr string      `json:"limit_str"`
		Items    []struct {
			Limit   json.Number
			PeriodS json.Number `json:"period_s"`
		}
	}
	GetUsage struct{ Outcome string } `json:"get_usage"`
}

func (c rateVector) text() string {
	if c.Input != nil {
		return *c.Input
	}
	return c.Repeat.Prefix + strings.Repeat(c.Repeat.Char, c.Repeat.Count) + c.Repeat.Suffix
}

// meaning is the reference's reading as "limit/seconds; ...", "" for an error.
func (c rateVector) meaning() string {
	switch {
	case !c.Reference.OK || c.GetUsage.Outcome == "error":
		return ""
	case c.Reference.Items == nil:
		return fmt.Sprintf("%s/%s", c.Reference.Limit, c.Reference.PeriodS)
	}
	var items []string
	for _, item := range c.Reference.Items {
		items = append(items, fmt.Sprintf("%s/%s", item.Limit, item.PeriodS))
	}
	return strings.Join(items, "; ")
}

func rateVectors(t testing.TB) []rateVector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors/rate-parsing.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Counts struct{ Cases int }
		Cases  []rateVector
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != file.Counts.Cases || len(file.Cases) < 100 {
		t.Fatalf("%d cases, the file promises %d", len(file.Cases), file.Counts.Cases)
	}
	return file.Cases
}

// rateDifferences are the texts that we deliberately read otherwise than an
// ancestor: per reason, the notation and text, and what we read ("" refuses).
var rateDifferences = []struct {
	why, notation string
	texts         map[string]string
}{
	{"a slip that reads as something else must not start a program", "django-ratelimit", map[string]string{
		"5/": "", "5/x": "", "5/mm": "", "5/m\n": "", "5/min": "", "5/m/extra": "", "5//m": "", "5/-1s": "",
	}},
	{"digits are ASCII", "django-ratelimit", map[string]string{
		"\u0665/m": "", "5/\u0665m": "", "\uff11\uff10/\uff12m": "",
	}},
	{"units in any case, as in limits", "django-ratelimit", map[string]string{
		"5/M": "5/60", "5/H": "5/3600", "5/D": "5/86400", // "5/S" agrees by accident
	}},
	{"long units mean what they say, as in limits", "django-ratelimit", map[string]string{
		"5/month": "5/2592000", "5/year": "5/31536000", "5/week": "5/604800",
	}},
	{"spaces are free, as in limits", "django-ratelimit", map[string]string{
		" 5/m": "5/60", "5 /m": "5/60", "5/ m": "5/60", "5/2 m": "5/120",
	}},
	{"no limit has a name", "django-ratelimit", map[string]string{"none": "none"}},
	{"limits above 2^31 and windows above 366 days are refused", "django-ratelimit", map[string]string{
		"9223372036854775807/s": "", "9223372036854775808/s": "", "18446744073709551616/s": "",
		"5/9223372036854775807d": "", "5/99999999999999999999": "",
		strings.Repeat("1", 100) + "/m": "", strings.Repeat("9", 4300) + "/m": "",
	}},
	{"limits above 2^31 and windows above 366 days are refused", "limits", map[string]string{
		"9223372036854775808/second": "", "1/9223372036854775807 years": "",
	}},
	{"a year is 365 days, not 360", "limits", map[string]string{
		"5/year": "5/31536000", "5/years": "5/31536000",
		"10/hour;100/day;2000 per year":                 "10/3600; 100/86400; 2000/31536000",
		"5/second;5/minute;5/hour;5/day;5/month;5/year": "5/1; 5/60; 5/3600; 5/86400; 5/2592000; 5/31536000",
	}},
	{"spaces are space and tab only", "limits", map[string]string{
		"\t1\n/\nday\n": "", "1\u00a0/\u2003day": "",
	}},
	{"a period of 0 is no period", "limits", map[string]string{"10/0 minutes": "", "10/00 minutes": ""}},
	{"short units, as in django-ratelimit", "limits", map[string]string{"10/h": "10/3600", "10/m": "10/60"}},
	{"there are weeks", "limits", map[string]string{"10/week": "10/604800"}},
	{"a colon separates nothing", "limits", map[string]string{
		"10/hour:;5/day": "", "10/hour:,5/day:|1/second": "",
	}},
	{"equal windows in one list are a slip", "limits", map[string]string{"10/hour;10/hour": ""}},
}

// Every recorded text is either read as its ancestor reads it, or is a named
// difference; and every named difference is one.
func TestRateVectorsOfTheAncestors(t *testing.T) {
	type named struct {
		why, want string
		used      bool
	}
	differences := map[[2]string]*named{}
	for _, d := range rateDifferences {
		for text, want := range d.texts {
			differences[[2]string{d.notation, text}] = &named{why: d.why, want: want}
		}
	}
	for _, c := range rateVectors(t) {
		ours := ""
		if rates, err := ParseRates(c.text()); err == nil {
			var items []string
			for _, r := range rates {
				items = append(items, fmt.Sprintf("%d/%d", r.Limit, int64(r.Window/time.Second)))
			}
			if ours = strings.Join(items, "; "); len(rates) == 0 {
				ours = "none"
			}
		}
		theirs := c.meaning()
		d := differences[[2]string{c.Notation, c.text()}]
		switch {
		case d == nil && ours != theirs:
			t.Errorf("%s %q: we read %q, they %q, and no reason is named", c.Notation, c.text(), ours, theirs)
		case d != nil && ours != d.want:
			t.Errorf("%s %q: we read %q, want %q, because %s", c.Notation, c.text(), ours, d.want, d.why)
		case d != nil && ours == theirs:
			t.Errorf("%s %q: both read %q; that is no difference", c.Notation, c.text(), ours)
		}
		if d != nil {
			d.used = true
		}
	}
	for k, d := range differences {
		if !d.used {
			t.Errorf("%s %q (%s) is not among the vectors", k[0], k[1], d.why)
		}
	}
}
