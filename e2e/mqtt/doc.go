// Package mqtt tries what segd publishes by MQTT at Debian's Mosquitto, and what Home Assistant's own code makes of it.
// Its tests need the build tag e2e; make mqtt-test installs what they need.
package mqtt
