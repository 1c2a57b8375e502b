#!/usr/bin/env python3
"""A complete remote worker of Roundsman, with the standard library alone.

Its handler "purge" empties directories of files that end in .old; README.md says how
to try it. Replace Purge by a handler of your own.
"""

import argparse
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request


class Canceled(Exception):
    """The job is to end; the reason is its argument."""


class Purge:
    """A handler: detect yields proposals, execute does one job."""

    name = "purge"
    descriptor = {
        "name": "purge",
        "help": "removes files that end in .old, one job per directory",
        "params": {
            "type": "object",
            "properties": {"root": {"type": "string"}, "pause": {"type": "number"}},
            "required": ["root"],
        },
        "default_policy": {},
    }

    def detect(self, detection):
        root = detection["params"]["root"]
        for name in sorted(os.listdir(root)):
            directory = os.path.join(root, name)
            if os.path.isdir(directory) and any(f.endswith(".old") for f in os.listdir(directory)):
                yield {"dedupe_key": name, "summary": f"purge {name}"}

    def execute(self, job, progress):
        params = job["params"]
        directory = os.path.join(params["root"], job["dedupe_key"])
        done = job.get("checkpoint") or 0
        files = sorted(f for f in os.listdir(directory) if f.endswith(".old"))
        total = done + len(files)
        for name in files:
            progress.check()
            os.remove(os.path.join(directory, name))
            with open(os.path.join(directory, "purged.log"), "a") as log:
                log.write(f"{job['worker_id']} {name}\n")
            done += 1
            progress.report(100 * done / total, "purge", name, checkpoint=done)
            time.sleep(params.get("pause", 0))
        return {"summary": f"purged {done} files", "data": {"files": done}}


def seconds(duration):
    """Turns a duration like 1m30s into seconds."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([0-9.]+)(ms|h|m|s)", duration))


class Progress:
    """What a handler has reported last; heartbeats send it as a whole."""

    def __init__(self, checkpoint):
        self._lock = threading.Lock()
        self._report = {"percent": -1}
        if checkpoint is not None:
            self._report["checkpoint"] = checkpoint
        self._cancel = None
        self.ended = threading.Event()

    def report(self, percent, stage="", message="", checkpoint=None):
        with self._lock:
            self._report.update(percent=percent, stage=stage, message=message)
            if checkpoint is not None:
                self._report["checkpoint"] = checkpoint

    def check(self):
        """Raises Canceled if the job is to end."""
        if self._cancel:
            raise Canceled(self._cancel)

    def cancel(self, reason):
        self._cancel = self._cancel or reason

    def canceled(self):
        return self._cancel

    def snapshot(self):
        with self._lock:
            return dict(self._report)

    def checkpoint(self):
        return {"checkpoint": c} if (c := self.snapshot().get("checkpoint")) is not None else {}


class Worker:
    def __init__(self, options, handlers):
        self.id, self.slots = options.id, options.slots
        self.api = options.gateway.rstrip("/") + "/api/v1"
        self.handlers = {h.name: h for h in handlers}
        self.token, self.interval = None, 1.0
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self.running = {}  # lease -> Progress
        self.free = threading.Semaphore(self.slots)

    def say(self, text):
        print(f"{self.id}: {text}", file=sys.stderr, flush=True)

    def call(self, path, body, timeout=75, bearer=None):
        """Sends one request and returns status and answer; 0: nobody answered."""
        bearer = self.token if bearer is None else bearer
        request = urllib.request.Request(
            self.api + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")
        if bearer:
            request.add_header("Authorization", "Bearer " + bearer)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else {}
        except urllib.error.HTTPError as refused:
            try:
                return refused.code, json.loads(refused.read() or b"{}")
            except ValueError:
                return refused.code, {}
        except (OSError, ValueError):
            return 0, {}

    def until_taken(self, path, body, bearer=None):
        """Repeats a call until a gateway took it, or says that it never will."""
        silent = None
        while True:
            status, answer = self.call(path, body, bearer=bearer)
            if status not in (0, 429) and status < 500:
                return status, answer
            if status != silent:
                self.say(f"trying again: {self.api} {'answers ' + str(status) if status else 'does not answer'}")
                silent = status
            time.sleep(0.5)

    def register(self):
        with self._lock:
            while not self.stopping.is_set():
                status, answer = self.until_taken("/workers/register", {
                    "id": self.id, "host": socket.gethostname(), "pid": os.getpid(), "previous": self.token or "",
                    "max_execute": self.slots, "max_detect": 1,
                    "capabilities": [
                        {"handler": h.name, "detect": True, "execute": True, "descriptor": h.descriptor} for h in self.handlers.values()],
                }, bearer=os.environ.get("ROUNDSMAN_KEY", ""))
                if status == 200:
                    self.token, self.interval = answer["token"], seconds(answer["heartbeat_interval"])
                    self.say("registered")
                    return
                if status != 409:
                    raise SystemExit(f"{self.id}: refused: {answer}")
                self.say(f"another process has this id: {answer.get('detail')}")
                self.stopping.wait(2)

    def pings(self):
        while True:
            status, answer = self.call(f"/workers/{self.id}/ping", {
                "executing": len(self.running), "detecting": 0, "stopping": self.stopping.is_set()}, timeout=5)
            if status in (401, 404) and not self.stopping.is_set():
                self.register()
            time.sleep(self.interval if status else 0.5)

    def detections(self):
        while not self.stopping.is_set():
            status, found = self.call(f"/workers/{self.id}/detections:poll", {"wait": "30s"})
            if status == 200:
                self.detect(found)
            elif status != 204:
                time.sleep(0.5)

    def detect(self, found):
        """Sends proposals in pages; the cursor of each answer belongs to the next call."""
        lease, cursor = found["lease"], found["cursor"]
        progress = Progress(None)
        threading.Thread(target=self.beats, args=(lease, found, progress), daemon=True).start()
        try:
            page, full = [], False
            for proposal in self.handlers[found["handler"]].detect(found):
                progress.check()
                page.append(proposal)
                if len(page) == 100:
                    cursor, full = self.propose(lease, cursor, page)
                    page = []
                if full:
                    break
            cursor, _ = self.propose(lease, cursor, page)
            self.until_taken(f"/leases/{lease}/detected", {"cursor": cursor, "more": full})
        except Canceled as reason:
            self.until_taken(f"/leases/{lease}/canceled", {"message": str(reason)})
        except Exception as fault:  # whatever the handler did wrong
            self.until_taken(f"/leases/{lease}/fail", {"message": repr(fault)})
        finally:
            progress.ended.set()

    def propose(self, lease, cursor, page):
        status, answer = self.until_taken(f"/leases/{lease}/proposals", {"cursor": cursor, "proposals": page})
        if status != 200:
            raise Canceled(answer.get("code"))
        return answer["cursor"], answer["full"]

    def beats(self, lease, job, progress):
        """Beats until the attempt has ended, and learns whether it is to."""
        while not progress.ended.wait(seconds(job["heartbeat_interval"])):
            status, answer = self.call(f"/leases/{lease}/heartbeat", progress.snapshot(), timeout=5)
            if status == 410:
                progress.cancel("lost")
            elif status == 200 and not answer["continue"]:
                progress.cancel(answer["cancel"])

    def jobs(self):
        while not self.stopping.is_set():
            self.free.acquire()
            status, job = self.call(f"/workers/{self.id}/jobs:poll", {"wait": "30s"})
            if status == 200:
                threading.Thread(target=self.execute, args=(job,)).start()
                continue
            self.free.release()
            if status != 204:
                time.sleep(0.5)

    def execute(self, job):
        lease, progress = job["lease"], Progress(job.get("checkpoint"))
        self.running[lease] = progress
        self.say(f"begins {job['dedupe_key']} after {job.get('checkpoint')}")
        threading.Thread(target=self.beats, args=(lease, job, progress), daemon=True).start()
        try:
            result = self.handlers[job["handler"]].execute(job, progress)
            status, _ = self.until_taken(f"/leases/{lease}/complete", result)
        except Canceled as reason:
            verb = {"canceled": "canceled", "return": "return", "timeout": "fail"}.get(str(reason))
            status = 410
            if verb:
                status, _ = self.until_taken(f"/leases/{lease}/{verb}", {"message": str(reason), **progress.checkpoint()})
        except Exception as fault:  # whatever the handler did wrong
            status, _ = self.until_taken(f"/leases/{lease}/fail", {"message": repr(fault), **progress.checkpoint()})
        finally:
            progress.ended.set()
            self.running.pop(lease, None)
            self.free.release()
        self.say(f"ended {job['dedupe_key']}: {status}")

    def run(self):
        self.register()
        for loop in (self.pings, self.detections, self.jobs):
            threading.Thread(target=loop, daemon=True).start()
        self.stopping.wait()
        # In the order of a node worker: nothing new, then the jobs are handed back.
        self.call(f"/workers/{self.id}/unregister", {})
        for progress in list(self.running.values()):
            progress.cancel("return")
        while self.running:
            time.sleep(0.05)
        self.say("stopped")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("id", help="the worker's name: a-z, 0-9, _ and -")
    parser.add_argument("--gateway", default=os.environ.get("ROUNDSMAN_GATEWAY", "http://127.0.0.1:8235"))
    parser.add_argument("--slots", type=int, default=1, help="how many jobs run at once")
    worker = Worker(parser.parse_args(), [Purge()])
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: worker.stopping.set())
    worker.run()


if __name__ == "__main__":
    main()
