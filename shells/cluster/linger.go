// The end of a connection by this node, after which the client still reads the last reply.

package main

import (
	"io"
	"time"
)

const (
	// How long, and for how many bytes, a client may go on sending what is not read any more.
	lingerTime       = 10 * time.Second
	mostLingerBytes  = 1 << 30
	mostUnknownBytes = 1 << 20
)

// linger says that no more replies come, and drops what the client still sends until it ends the connection too. If the
// node ended it while bytes are under way, the kernel would reset it, and the client would lose the reply that says why.
func (c *connection) linger() {
	half, hasHalves := c.net.(interface{ CloseWrite() error })
	if !hasHalves || half.CloseWrite() != nil || c.net.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	most := int64(mostLingerBytes)
	if !c.isKnown {
		most = mostUnknownBytes
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.net, most))
}
