"""Two devices by WSDiscovery, on loopback alone: a camera and a printer.

device.py XADDR
"""
import ipaddress
import sys
import time

import wsdiscovery.threaded
from wsdiscovery import QName, Scope
from wsdiscovery.publishing import ThreadedWSPublishing

# It leaves out loopback, and would announce the devices to the network.
wsdiscovery.threaded._getNetworkAddrs = lambda protocol: [ipaddress.ip_address("127.0.0.1")]

devices = {
    QName("http://www.onvif.org/ver10/network/wsdl", "NetworkVideoTransmitter"): [
        Scope("onvif://www.onvif.org/name/Front%20Door"), Scope("onvif://www.onvif.org/hardware/Model%2FX")],
    QName("http://schemas.microsoft.com/windows/2006/08/wdp/print", "PrintDeviceType"): [],
}
for kind, scopes in devices.items():
    publisher = ThreadedWSPublishing()
    publisher.start()
    publisher.publishService(types=[kind], scopes=scopes, xAddrs=[sys.argv[1]])
print("announced", flush=True)
time.sleep(3600)
