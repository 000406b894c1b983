"""An agent for Errand as a separate service. Needs Python 3.9 or newer and no packages.

Errand posts each task and each chat here, signed as in Standard Webhooks, see https://www.standardwebhooks.com.
"""

import argparse
import base64
import binascii
import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 5 * 60
BODY_BYTES_MAX = 20 * 1024 * 1024


# The agent's work


def readability(params):
    """Text statistics with the Flesch reading ease: 100 is a children's book, 0 a statute."""
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", params["text"])
    sentences = [part for part in re.split(r"[.!?…]+(?:\s|$)", params["text"]) if re.search(r"\w", part)]
    if not words:
        raise ValueError("The text has no words.")
    syllables = sum(count_syllables(word) for word in words)
    per_sentence = len(words) / max(len(sentences), 1)
    ease = 206.835 - 1.015 * per_sentence - 84.6 * syllables / len(words)
    return {
        "words": len(words),
        "sentences": len(sentences),
        "syllables": syllables,
        "wordsPerSentence": round(per_sentence, 1),
        "longestWord": max(words, key=len),
        "readingEase": round(ease, 1),
    }


def count_syllables(word):
    """Counts the vowel groups of an English word, without a silent final e."""
    word = word.lower()
    groups = len(re.findall(r"[aeiouyàâäéèêëîïôöùûü]+", word))
    if groups > 1 and word.endswith("e") and not word.endswith("le"):
        groups -= 1
    return max(groups, 1)


ENDPOINTS = {"readability": readability}


def reply(request):
    """Yields the parts of a reply; each is sent immediately."""
    text = request["message"]
    if not re.search(r"[^\W\d_]", text):
        yield {"type": "text", "delta": "Send me a text, and I tell how easily it reads."}
        return
    yield {"type": "tool-call", "id": "call-1", "name": "readability", "arguments": {"text": text}}
    found = readability({"text": text})
    yield {"type": "tool-result", "id": "call-1", "output": found}
    answer = (
        f"{count(found['words'], 'word')} in {count(found['sentences'], 'sentence')}, "
        f"{found['wordsPerSentence']} words in each; the longest is “{found['longestWord']}”. "
        f"Reading ease: {found['readingEase']}."
    )
    earlier = sum(1 for message in request["history"] if message["role"] == "user")
    if earlier:
        answer += f" That was text number {earlier + 1} of this session."
    for word in re.findall(r"\S+\s*", answer):
        yield {"type": "text", "delta": word}


def count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# The protocol


class Refusal(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def verify(headers, body, key):
    """Rejects requests that Errand did not sign or signed too long ago. Compares signatures in constant time."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise Refusal(401, "The timestamp is missing or too far from the current time.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    for signature in headers.get("webhook-signature", "").split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(expected, value.encode()):
            return
    raise Refusal(401, "The signature is wrong.")


class Handler(BaseHTTPRequestHandler):
    # HTTP/1.0, the default here, has no chunked encoding: a truncated reply would look complete.
    protocol_version = "HTTP/1.1"
    key = b""

    def do_POST(self):
        try:
            request = self.read_request()
            if request.get("type") == "chat":
                return self.send_parts(reply(request))
            if request.get("type") != "task" or request.get("endpoint") not in ENDPOINTS:
                raise Refusal(404, "There is no such endpoint.")
            self.send_json(200, ENDPOINTS[request["endpoint"]](request["params"]))
        except Refusal as refusal:
            self.send_json(refusal.status, {"message": str(refusal)})
        except ConnectionError:
            self.close_connection = True  # Errand no longer needs the response.
        except ValueError as error:
            self.send_json(400, {"message": str(error)})

    def read_request(self):
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            raise Refusal(411, "The Content-Length is missing.")
        if int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            raise Refusal(413, "The request is too large.")
        body = self.rfile.read(int(length))
        verify(self.headers, body, self.key)
        return json.loads(body)

    def send_json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_parts(self, parts):
        """Sends each part as a JSON line in its own chunk. The empty last chunk marks the reply as complete."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for part in parts:
                self.send_line(part)
        except ConnectionError:
            raise
        except Exception as error:  # Too late for an error status: report the error in the last line.
            self.send_line({"type": "error", "message": str(error)})
        self.wfile.write(b"0\r\n\r\n")

    def send_line(self, part):
        line = json.dumps(part).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def log_message(self, format, *args):
        print(format % args, file=sys.stderr)


def read_key(secret):
    try:
        prefix, key = secret[:6], base64.b64decode(secret[6:], validate=True)
    except binascii.Error:
        prefix, key = "", b""
    if prefix != "whsec_" or not 24 <= len(key) <= 64:
        sys.exit("AGENT_SECRET must be whsec_ followed by base64 of 24 to 64 bytes. Create one with --new-secret.")
    return key


def main():
    parser = argparse.ArgumentParser(description="An agent that tells how easily texts read.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--new-secret", action="store_true", help="print a new secret and stop")
    options = parser.parse_args()
    if options.new_secret:
        print("whsec_" + base64.b64encode(os.urandom(32)).decode())
        return
    Handler.key = read_key(os.environ.get("AGENT_SECRET", ""))
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    print(f"Listening on http://{options.host}:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
