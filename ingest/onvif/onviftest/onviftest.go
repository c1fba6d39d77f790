// Package onviftest is the cameras' side of ONVIF, for tests: devices that answer
// probes by multicast, and a camera that answers questions, as the specifications have
// both. Their words are written after those, not after what segd asks.
package onviftest

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icholy/digest"
)

// Camera is a camera that is asked over HTTP: SOAP 1.2 by namespaces, UsernameToken
// digests that are computed anew and hold once and for five seconds of the camera's
// clock, HTTP Digest.
type Camera struct {
	User, Password string
	Ahead          time.Duration // of its clock
	HTTPDigest     bool          // by which it wants its user, not by UsernameToken
	ShutClock      bool          // its time is for users, too
	// Authority is where it believes to be; "": where it is.
	Authority string
	// Stream is the URL of all its streams; "": each has its own, where nothing listens.
	Stream string
	// Answers are those to some operations, within the SOAP body.
	Answers map[string]string
	// Version of ONVIF: before 2 there is no GetServices, before 3 no Media2.
	Version int

	mu      sync.Mutex
	asked   []string
	refused int
	nonces  map[string]bool
}

// question is a request as the device reads it.
type question struct {
	XMLName xml.Name `xml:"http://www.w3.org/2003/05/soap-envelope Envelope"`
	Header  struct {
		Security struct {
			Token *usernameToken `xml:"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd UsernameToken"`
		} `xml:"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd Security"`
	} `xml:"http://www.w3.org/2003/05/soap-envelope Header"`
	Body struct {
		Any struct {
			XMLName xml.Name
			Token   string `xml:"ProfileToken"`
		} `xml:",any"`
	} `xml:"http://www.w3.org/2003/05/soap-envelope Body"`
}

type usernameToken struct {
	Username string
	Password struct {
		Type string `xml:"Type,attr"`
		Text string `xml:",chardata"`
	}
	Nonce   string
	Created string `xml:"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd Created"`
}

const (
	deviceNS = "http://www.onvif.org/ver10/device/wsdl"
	media1   = "http://www.onvif.org/ver10/media/wsdl"
	media2   = "http://www.onvif.org/ver20/media/wsdl"

	// Head and Tail are around what a SOAP body holds.
	Head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:tt="http://www.onvif.org/ver10/schema" ` +
		`xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:trt="http://www.onvif.org/ver10/media/wsdl" xmlns:tr2="http://www.onvif.org/ver20/media/wsdl" xmlns:ter="http://www.onvif.org/ver10/error"><SOAP-ENV:Body>`
	Tail = `</SOAP-ENV:Body></SOAP-ENV:Envelope>`
	// NotAuthorized and NotSupported are faults.
	NotAuthorized = `<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:NotAuthorized</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">Sender not Authorized</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>`
	NotSupported  = `<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Receiver</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:ActionNotSupported</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">Optional Action Not Implemented</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>`

	// Profiles1 and Profiles2 are answers of the two media services.
	Profiles1 = `<trt:GetProfilesResponse>
<trt:Profiles token="Profile_1" fixed="true"><tt:Name>mainStream</tt:Name>
<tt:VideoSourceConfiguration token="V0"><tt:Name>V0</tt:Name><tt:Bounds x="0" y="0" width="2560" height="1440"/></tt:VideoSourceConfiguration>
<tt:VideoEncoderConfiguration token="E1"><tt:Name>E1</tt:Name><tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>2560</tt:Width><tt:Height>1440</tt:Height></tt:Resolution><tt:Quality>4</tt:Quality><tt:RateControl><tt:FrameRateLimit>25</tt:FrameRateLimit><tt:EncodingInterval>1</tt:EncodingInterval><tt:BitrateLimit>4096</tt:BitrateLimit></tt:RateControl><tt:H264><tt:GovLength>50</tt:GovLength><tt:H264Profile>Main</tt:H264Profile></tt:H264></tt:VideoEncoderConfiguration>
</trt:Profiles>
<trt:Profiles token="Profile_2&amp;b" fixed="true"><tt:Name>subStream</tt:Name>
<tt:VideoSourceConfiguration token="V0"><tt:Name>V0</tt:Name></tt:VideoSourceConfiguration>
<tt:VideoEncoderConfiguration token="E2"><tt:Encoding>H264</tt:Encoding><tt:Resolution><tt:Width>640</tt:Width><tt:Height>480</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>15</tt:FrameRateLimit></tt:RateControl></tt:VideoEncoderConfiguration>
</trt:Profiles>
<trt:Profiles token="Profile_3"><tt:Name>still</tt:Name>
<tt:VideoSourceConfiguration token="V0"/>
<tt:VideoEncoderConfiguration token="E3"><tt:Encoding>JPEG</tt:Encoding><tt:Resolution><tt:Width>many</tt:Width><tt:Height>-5</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>NaN</tt:FrameRateLimit></tt:RateControl></tt:VideoEncoderConfiguration>
</trt:Profiles>
<trt:Profiles token="Profile_4"><tt:Name>metadata</tt:Name><tt:MetadataConfiguration token="M"/></trt:Profiles>
</trt:GetProfilesResponse>`
	Profiles2 = `<tr2:GetProfilesResponse>
<tr2:Profiles token="P1" fixed="true"><tr2:Name>big</tr2:Name><tr2:Configurations><tr2:VideoEncoder token="E1" GovLength="50"><tt:Name>E1</tt:Name><tt:Encoding>H265</tt:Encoding><tt:Resolution><tt:Width>3840</tt:Width><tt:Height>2160</tt:Height></tt:Resolution><tt:RateControl ConstantBitRate="false"><tt:FrameRateLimit>29.97003</tt:FrameRateLimit><tt:BitrateLimit>8192</tt:BitrateLimit></tt:RateControl></tr2:VideoEncoder></tr2:Configurations></tr2:Profiles>
<tr2:Profiles token="P2" fixed="true"><tr2:Name>small</tr2:Name><tr2:Configurations><tr2:VideoEncoder token="E2"><tt:Encoding>H265</tt:Encoding><tt:Resolution><tt:Width>704</tt:Width><tt:Height>576</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>12.5</tt:FrameRateLimit></tt:RateControl></tr2:VideoEncoder></tr2:Configurations></tr2:Profiles>
<tr2:Profiles token="P3"><tr2:Name>sound</tr2:Name><tr2:Configurations/></tr2:Profiles>
</tr2:GetProfilesResponse>`
)

// Start serves c until the test ends, and returns its host and port.
func (c *Camera) Start(t testing.TB) string {
	t.Helper()
	c.nonces = map[string]bool{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Asked are the operations it was asked for.
func (c *Camera) Asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// Refused is how many questions it refused that came with a user: a strict camera locks the account after some.
func (c *Camera) Refused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// ServeHTTP answers a question.
func (c *Camera) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var q question
	if err == nil {
		err = xml.Unmarshal(body, &q)
	}
	if err != nil || r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/soap+xml") {
		http.Error(w, fmt.Sprint("no SOAP 1.2: ", err), http.StatusUnsupportedMediaType)
		return
	}
	name := q.Body.Any.XMLName
	c.asked = append(c.asked, name.Local)
	w.Header().Set("Content-Type", "application/soap+xml; charset=utf-8")
	refuse := func() {
		if r.Header.Get("Authorization") != "" || q.Header.Security.Token != nil {
			c.refused++
		}
	}
	free := name.Local == "GetSystemDateAndTime" && !c.ShutClock // the one that the specification lets anybody ask
	switch {
	case free || c.User == "":
	case c.HTTPDigest && !c.digested(r):
		refuse()
		w.Header().Set("WWW-Authenticate", `Digest realm="cam", nonce="abc123", qop="auth", algorithm=MD5`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	case !c.HTTPDigest && !c.signed(q.Header.Security.Token):
		refuse()
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, Head, NotAuthorized, Tail)
		return
	}
	answer, ok := c.Answers[name.Local]
	if !ok {
		answer = c.answer(r, name, q.Body.Any.Token)
	}
	if strings.Contains(answer, "NotAuthorized") || strings.Contains(answer, "Authentication failed") {
		refuse()
	}
	fmt.Fprint(w, Head, answer, Tail)
}

// answer is what a camera of this kind answers.
func (c *Camera) answer(r *http.Request, name xml.Name, token string) string {
	authority := c.Authority
	if authority == "" {
		authority = r.Host
	}
	host, _, _ := strings.Cut(authority, ":")
	switch name {
	case xml.Name{Space: deviceNS, Local: "GetSystemDateAndTime"}:
		now := time.Now().Add(c.Ahead).UTC()
		return now.Format("<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>Manual</tt:DateTimeType><tt:DaylightSavings>false</tt:DaylightSavings>" +
			"<tt:UTCDateTime><tt:Time><tt:Hour>15</tt:Hour><tt:Minute>4</tt:Minute><tt:Second>5</tt:Second></tt:Time><tt:Date><tt:Year>2006</tt:Year><tt:Month>1</tt:Month><tt:Day>2</tt:Day></tt:Date></tt:UTCDateTime>" +
			"</tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>")
	case xml.Name{Space: deviceNS, Local: "GetServices"}:
		if c.Version < 2 {
			return NotSupported
		}
		list := `<tds:GetServicesResponse><tds:Service><tds:Namespace>http://www.onvif.org/ver10/device/wsdl</tds:Namespace><tds:XAddr>http://` + authority + `/onvif/device_service</tds:XAddr></tds:Service>` +
			`<tds:Service><tds:Namespace>` + media1 + `</tds:Namespace><tds:XAddr>http://` + authority + `/onvif/media</tds:XAddr></tds:Service>`
		if c.Version > 2 {
			list += `<tds:Service><tds:Namespace>` + media2 + `</tds:Namespace><tds:XAddr>http://` + authority + `/onvif/media2</tds:XAddr></tds:Service>`
		}
		return list + `</tds:GetServicesResponse>`
	case xml.Name{Space: deviceNS, Local: "GetCapabilities"}:
		return `<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>http://` + authority + `/onvif/media</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>`
	case xml.Name{Space: media1, Local: "GetProfiles"}:
		return Profiles1
	case xml.Name{Space: media2, Local: "GetProfiles"}:
		return Profiles2
	case xml.Name{Space: media1, Local: "GetStreamUri"}:
		if c.Stream != "" {
			return `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>` + escape(c.Stream) + `</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`
		}
		if token == "Profile_3" {
			return NotSupported
		}
		return `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>rtsp://` + host + `:554/Streaming/` + escape(token) + `?transportmode=unicast&amp;profile=x</tt:Uri><tt:InvalidAfterConnect>false</tt:InvalidAfterConnect></trt:MediaUri></trt:GetStreamUriResponse>`
	case xml.Name{Space: media2, Local: "GetStreamUri"}:
		return `<tr2:GetStreamUriResponse><tr2:Uri>rtsp://admin:leaked@` + host + `/` + token + `</tr2:Uri></tr2:GetStreamUriResponse>`
	}
	return NotSupported
}

// signed verifies a UsernameToken.
func (c *Camera) signed(token *usernameToken) bool {
	if token == nil || token.Username != c.User || !strings.HasSuffix(token.Password.Type, "#PasswordDigest") || c.nonces[token.Nonce] {
		return false
	}
	c.nonces[token.Nonce] = true
	nonce, err := base64.StdEncoding.DecodeString(token.Nonce)
	created, dateErr := time.Parse(time.RFC3339, token.Created)
	sum := sha1.Sum([]byte(string(nonce) + token.Created + c.Password))
	return err == nil && dateErr == nil && time.Since(created.Add(-c.Ahead)).Abs() < 5*time.Second &&
		token.Password.Text == base64.StdEncoding.EncodeToString(sum[:])
}

// digested verifies HTTP Digest.
func (c *Camera) digested(r *http.Request) bool {
	got, err := digest.ParseCredentials(r.Header.Get("Authorization"))
	if err != nil {
		return false
	}
	want, err := digest.Digest(&digest.Challenge{Realm: "cam", Nonce: "abc123", QOP: []string{"auth"}, Algorithm: "MD5"},
		digest.Options{Method: r.Method, URI: r.URL.RequestURI(), Username: c.User, Password: c.Password, Cnonce: got.Cnonce, Count: got.Nc})
	return err == nil && got.Response == want.Response && got.Username == c.User
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes all
	return b.String()
}
