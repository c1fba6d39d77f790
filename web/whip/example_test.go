package whip_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/web/whip"
)

// A camera that waits for a publisher, of whom none comes.
func Example() {
	server, err := whip.New(whip.Config{Addr: "127.0.0.1:0", Cameras: []string{"door"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, httptest.NewRequest("OPTIONS", "/whip/door", nil))
	fmt.Println(answer.Code, "accepts", answer.Header().Get("Accept-Post"))

	source, err := ingest.Open(ingest.Config{
		Camera: "door", URL: "whip:", Door: server.Door("door"),
		Observer: ingest.Observer{Down: func(err error) { fmt.Println(err) }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(source.Run(ctx, func(f *ingest.Frame) { f.Release() }))
	// Output:
	// 204 accepts application/sdp
	// ingest: whip: nobody publishes yet: open /publish/door in a browser, or send WHIP to /whip/door
	// context deadline exceeded
}
