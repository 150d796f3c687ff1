package trial

// StartVersion starts a node that does not run as a version that knows other things: words for `holm-cluster serve`.
func (c *Cluster) StartVersion(at int, words ...string) error {
	before := c.settings.Serve
	defer func() { c.settings.Serve = before }()
	c.settings.Serve = append(before[:len(before):len(before)], words...)
	return c.StartNode(at)
}
