#!/usr/bin/python3
"""Cameras that get RTSP and HTTP wrong in ways that GStreamer's server cannot, on the ports of
127.0.0.1 that are given:

    oddserver.py RTSP HTTP VIDEO.h264 PICTURE.jpg

VIDEO's NAL units are of at most 1200 bytes each, one slice a picture's part, at 25 pictures a
second; it has access unit delimiters. The user is anna, the password s3cret.
"""
import hashlib
import http.server
import re
import socketserver
import struct
import sys
import threading
import time

RTSP, HTTP, VIDEO, PICTURE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

SESSION = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\na=control:*\r\n"
SOUND = "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/x\r\na=fmtp:97 config=zz\r\na=control:sound\r\n"
DATA = "m=data 0 RTP/XYZ 300\r\na=control:data\r\n"
FILM = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:film\r\n"

# By path: what is before and after the video in the description, how SETUP of UDP is answered,
# and by which algorithm users are asked.
CAMERAS = {
    "/sound": {"before": SOUND, "after": DATA},
    "/406": {"udp": "406 Not Acceptable"},
    "/noports": {"udp": "200 OK"},
    "/closed": {"udp": ""},
    "/md5": {"digest": "MD5"},
    "/sha256": {"digest": "SHA-256"},
    "/session": {"digest": "MD5-sess"},
}


def pictures(data):
    """The access units of an Annex-B stream, as lists of NAL units."""
    units = []
    for nal in re.split(b"\x00\x00\x00?\x01", data)[1:]:
        if nal[0] & 31 == 9:
            units.append([])
        else:
            units[-1].append(nal)
    return units


FILMED = pictures(open(VIDEO, "rb").read())


class Door:
    """Lets in by RFC 7616 with qop=auth; a nonce is good for two requests, each with a count of its own."""

    def __init__(self, algorithm):
        self.algorithm, self.nonces, self.counts = algorithm, 0, {}  # by nonce

    def hash(self, *parts):
        new = hashlib.sha256 if self.algorithm.startswith("SHA-256") else hashlib.md5
        return new(":".join(parts).encode()).hexdigest()

    def challenge(self, method, uri, told):
        """None, or what to ask for."""
        p = dict((k, q or v) for k, q, v in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', told or ""))
        right = False
        if "qop" in p:
            key = self.hash("anna", "odd", "s3cret")
            if self.algorithm.endswith("-sess"):
                key = self.hash(key, p["nonce"], p["cnonce"])
            right = p["response"] == self.hash(key, p["nonce"], p["nc"], p["cnonce"], p["qop"], self.hash(method, uri))
        counts = self.counts.get(p.get("nonce"))
        if right and p["uri"] == uri and counts is not None and p["nc"] not in counts and len(counts) < 2:
            counts.append(p["nc"])
            return None
        self.nonces += 1
        self.counts[str(self.nonces)] = []
        return f'Digest realm="odd", qop="auth", algorithm={self.algorithm}, nonce="{self.nonces}"' + (", stale=true" if right else "")


class Camera(socketserver.StreamRequestHandler):
    def play(self):
        sequence, began = 0, time.time()
        try:
            for n in range(1 << 30):
                unit = FILMED[n % len(FILMED)]
                for k, nal in enumerate(unit):
                    last = k == len(unit) - 1
                    packet = struct.pack(">BBHII", 0x80, 96 | (0x80 if last else 0), sequence & 0xFFFF, n * 3600 & 0xFFFFFFFF, 1) + nal
                    sequence += 1
                    with self.lock:
                        self.wfile.write(struct.pack(">cBH", b"$", 0, len(packet)) + packet)
                time.sleep(max(0, began + (n + 1) / 25 - time.time()))
        except OSError:
            pass

    def asked(self):
        """The next one: method, URL and headers; None at the end."""
        while True:
            first = self.rfile.read(1)
            if first != b"$":
                break
            self.rfile.read(struct.unpack(">xH", self.rfile.read(3))[0])
        if not first:
            return None
        method, url, _ = (first + self.rfile.readline()).decode().split(" ", 2)
        headers = {}
        while line := self.rfile.readline().decode().strip():
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return method, url, headers

    def handle(self):
        self.lock, door = threading.Lock(), None
        while asked := self.asked():
            method, url, headers = asked
            camera = CAMERAS["/" + url.split("/")[3]]
            status, more, body = "200 OK", "", ""
            if "digest" in camera and method != "OPTIONS":
                door = door or Door(camera["digest"])
                if challenge := door.challenge(method, url, headers.get("authorization")):
                    status, more = "401 Unauthorized", f"WWW-Authenticate: {challenge}\r\n"
            if status == "200 OK" and method == "DESCRIBE":
                body = SESSION + camera.get("before", "") + FILM + camera.get("after", "")
                more = f"Content-Type: application/sdp\r\nContent-Base: {url}/\r\n"
            elif status == "200 OK" and method == "SETUP":
                if not url.endswith("/film"):
                    status = "404 Not Found"
                elif "TCP" in headers["transport"]:
                    more = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n"
                else:
                    status = camera.get("udp", "461 Unsupported Transport")
                    if not status:
                        return
                    more = f"Transport: {headers['transport']}\r\nSession: 1\r\n"
            answer = f"RTSP/1.0 {status}\r\nCSeq: {headers['cseq']}\r\n{more}"
            if body:
                answer += f"Content-Length: {len(body)}\r\n"
            with self.lock:
                self.wfile.write((answer + "\r\n" + body).encode())
            if method == "PLAY" and status == "200 OK":
                threading.Thread(target=self.play, daemon=True).start()


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True


class Web(http.server.BaseHTTPRequestHandler):
    """/snapshot: a picture a request; /same: the same one, by its ETag."""

    protocol_version, door, lock = "HTTP/1.1", Door("SHA-256-sess"), threading.Lock()

    def do_GET(self):
        with self.lock:
            challenge = self.door.challenge("GET", self.path, self.headers["Authorization"])
        if challenge:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="odd"')
            self.send_header("WWW-Authenticate", challenge)
            body = b"who is there?"
        elif self.path == "/same" and self.headers["If-None-Match"] == '"1"':
            self.send_response(304)
            body = b""
        else:
            self.send_response(200)
            self.send_header("Content-Type", "image/jpeg")
            if self.path == "/same":
                self.send_header("ETag", '"1"')
            body = open(PICTURE, "rb").read()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", HTTP), Web).serve_forever, daemon=True).start()
Server(("127.0.0.1", RTSP), Camera).serve_forever()
