package mqtt

import (
	"fmt"
	"net"
)

// maxDigits is how many bytes a packet's length takes at most (MQTT 5, section 1.5.5).
const maxDigits = 4

// packetLimit is a connection over which no packet comes that is larger than maxReceived: the library takes in any. The broker
// was told so, and one that sends such a packet loses the connection with its head.
type packetLimit struct {
	net.Conn
	rest   int  // bytes of the packet in hand that are to come, once its head is over
	inHead bool // its first byte has come, and not all of its length
	digits int  // of its length, so far
	fault  error
}

func (c *packetLimit) Read(b []byte) (n int, err error) {
	if c.fault != nil {
		return 0, c.fault
	}
	n, err = c.Conn.Read(b)
	for at := 0; at < n; {
		switch {
		case c.inHead:
			c.rest |= int(b[at]&0x7f) << (7 * c.digits)
			c.inHead = b[at] >= 0x80
			if c.digits++; c.rest > maxReceived || c.inHead && c.digits == maxDigits {
				c.fault = fmt.Errorf("mqtt: the broker sends a packet of more than %d bytes, which it was told is the most", maxReceived)
				return at, c.fault
			}
			at++
		case c.rest > 0:
			skip := min(c.rest, n-at)
			c.rest -= skip
			at += skip
		default:
			c.inHead, c.digits = true, 0
			at++
		}
	}
	return n, err
}
