// Package proxy tries segd below a path of the proxies whose configurations deploy/proxy has. Its tests need the
// build tag e2e; make proxy-test installs what they need.
package proxy
